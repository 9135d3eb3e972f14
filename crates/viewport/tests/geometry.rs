//! The sphere: tiles, viewports, attitudes.

use std::f64::consts::PI;

use airlane_viewport::{
    FieldOfView, Orientation, Tiling, Viewport, direction, panorama_psnr_db, psnr_db, ws_psnr_db,
    ws_row_weight,
};
use proptest::prelude::*;

const SPHERE: f64 = 4.0 * PI;

fn viewport(angles: [f64; 3], field: [f64; 2]) -> Viewport {
    let [yaw, pitch, roll] = angles;
    let field = FieldOfView::from_degrees(field[0], field[1]).unwrap();
    Viewport { orientation: Orientation::from_degrees(yaw, pitch, roll), field }
}

/// Attitudes, among them those along axes and at poles, where planes are vertical or level.
fn angles() -> impl Strategy<Value = [f64; 3]> {
    let right_angles = (-4i32..=4, -2i32..=2, -4i32..=4)
        .prop_map(|(y, p, r)| [y, p, r].map(|steps| 90.0 * f64::from(steps)));
    let eighths = (-8i32..=8, -4i32..=4, -8i32..=8)
        .prop_map(|(y, p, r)| [y, p, r].map(|steps| 45.0 * f64::from(steps)));
    let any = [-400.0..400.0, -90.0..90.0, -180.0..180.0f64];
    prop_oneof![1 => right_angles, 1 => eighths, 4 => any]
}

fn fields() -> impl Strategy<Value = [f64; 2]> {
    prop_oneof![Just([90.0, 90.0]), Just([110.0, 90.0]), [1.0..179.0, 1.0..179.0f64]]
}

fn tilings() -> impl Strategy<Value = Tiling> {
    (1usize..=24, 1usize..=24).prop_map(|(c, r)| Tiling::new(c, r).unwrap())
}

proptest! {
    #[test]
    fn tiles_sum_to_the_sphere(tiling in tilings()) {
        let total: f64 = (0..tiling.tiles()).map(|tile| tiling.solid_angle(tile)).sum();
        prop_assert!((total - SPHERE).abs() < 1e-12);
        prop_assert!((tiling.sphere_shares().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_viewport_fills_its_solid_angle(a in angles(), f in fields(), tiling in tilings()) {
        let seen = viewport(a, f);
        let parts = seen.solid_angles(tiling);
        let total: f64 = parts.iter().sum();
        prop_assert!((total - seen.field.solid_angle()).abs() < 1e-9, "{total}");
        for (tile, part) in parts.iter().enumerate() {
            prop_assert!(*part >= 0.0 && *part <= tiling.solid_angle(tile) + 1e-9);
        }
    }

    /// Six square viewports of 90 degrees are the faces of a cube, however it is turned: in each
    /// tile they add up to that tile.
    #[test]
    fn the_faces_of_a_cube_tile_the_sphere([yaw, pitch, roll] in angles(), tiling in tilings()) {
        let cube = Orientation::from_degrees(yaw, pitch, roll);
        let field = FieldOfView::from_degrees(90.0, 90.0).unwrap();
        let mut sums = vec![0.0; tiling.tiles()];
        let faces = [[0.0, 0.0], [90.0, 0.0], [180.0, 0.0], [270.0, 0.0], [0.0, 90.0], [0.0, -90.0]];
        for [yaw, pitch] in faces {
            let face = Orientation::from_degrees(yaw, pitch, 0.0);
            let orientation = cube.after(face);
            let parts = Viewport { orientation, field }.solid_angles(tiling);
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
        for (tile, sum) in sums.iter().enumerate() {
            prop_assert!((sum - tiling.solid_angle(tile)).abs() < 1e-8, "tile {tile}: {sum}");
        }
    }

    #[test]
    fn turning_by_a_tile_moves_what_is_seen_by_a_tile(
        [yaw, pitch, roll] in angles(), f in fields(), tiling in tilings(),
    ) {
        let columns = tiling.columns();
        let here = viewport([yaw, pitch, roll], f).solid_angles(tiling);
        let there = viewport([yaw + 360.0 / columns as f64, pitch, roll], f).solid_angles(tiling);
        for (tile, part) in here.iter().enumerate() {
            let (row, column) = (tile / columns, tile % columns);
            let moved = there[row * columns + (column + 1) % columns];
            prop_assert!((part - moved).abs() < 1e-8, "tile {tile}: {part} and {moved}");
        }
    }

    /// Against counting the points of a fine grid that the viewport shows, each with the solid angle
    /// of its cell.
    #[test]
    fn parts_are_those_of_a_fine_grid(a in angles(), f in fields(), side in (1usize..=12, 1usize..=8)) {
        const FINE: usize = 24;
        let tiling = Tiling::new(side.0, side.1).unwrap();
        let seen = viewport(a, f);
        let (across, down) = (FINE * side.0.max(6), FINE * side.1.max(4));
        let (across, down) = (across.next_multiple_of(side.0), down.next_multiple_of(side.1));
        let mut counted = vec![0.0; tiling.tiles()];
        for row in 0..down {
            let latitude = PI * (0.5 - (row as f64 + 0.5) / down as f64);
            let cell = 2.0 * PI / across as f64 * PI / down as f64 * latitude.cos();
            for column in 0..across {
                let longitude = 2.0 * PI * (column as f64 + 0.5) / across as f64 - PI;
                if seen.shows(direction(longitude, latitude)) {
                    counted[tiling.tile_at(longitude, latitude)] += cell;
                }
            }
        }
        // A bound that crosses a tile misjudges the cells along it, about half a cell each.
        let cell = 2.0 * PI / across as f64 * PI / down as f64;
        let along = across as f64 / side.0 as f64 + down as f64 / side.1 as f64;
        for (tile, (exact, counted)) in seen.solid_angles(tiling).iter().zip(&counted).enumerate() {
            let error = (exact - counted).abs();
            prop_assert!(error <= 1.5 * cell * along, "tile {tile}: {exact} and {counted}");
        }
    }

    #[test]
    fn the_way_between_attitudes_is_even_and_has_no_seam(a in angles(), b in angles(), s in 0.0..=1.0f64) {
        let [from, to] = [a, b].map(|[y, p, r]| Orientation::from_degrees(y, p, r));
        let whole = from.angle_to(to);
        prop_assert!(whole <= PI + 1e-9);
        let between = from.towards(to, s);
        prop_assert!((from.angle_to(between) - s * whole).abs() < 1e-6);
        prop_assert!((between.angle_to(to) - (1.0 - s) * whole).abs() < 1e-6);
    }

    #[test]
    fn a_turned_view_looks_where_the_angles_say(yaw in -360.0..360.0f64, pitch in -90.0..90.0f64, roll in -180.0..180.0f64) {
        let orientation = Orientation::from_degrees(yaw, pitch, roll);
        let expected = direction(yaw.to_radians(), pitch.to_radians());
        for (found, expected) in orientation.ahead().iter().zip(expected) {
            prop_assert!((found - expected).abs() < 1e-12);
        }
        // With the head on the right shoulder the view's right side is low.
        let down = -(pitch.to_radians().cos() * roll.to_radians().sin());
        prop_assert!((orientation.right()[2] - down).abs() < 1e-12);
    }
}

#[test]
fn tiles_are_named_from_the_top_left() {
    let tiling = Tiling::REFERENCE;
    assert_eq!((tiling.tiles(), tiling.tile_at(-PI + 0.01, PI / 2.0 - 0.01)), (96, 0));
    assert_eq!(tiling.tile_at(PI - 0.01, PI / 2.0 - 0.01), 11);
    // Forward lies at the corner of four tiles; just above it and to the right is row 3, column 6.
    assert_eq!(tiling.tile_at(0.01, 0.01), 3 * 12 + 6);
    assert_eq!(tiling.tile_at(3.0 * PI - 0.01, -PI / 2.0), 95);
    assert_eq!(tiling.tile_at(-3.0 * PI + 0.01, -PI / 2.0), 84);
    assert_eq!(Tiling::new(0, 8).unwrap_err().columns, 0);
    assert!(Tiling::new(24, 24).is_ok() && Tiling::new(65, 1).is_err());
}

#[test]
fn a_view_at_a_pole_sees_every_column_alike() {
    let parts = viewport([0.0, 90.0, 0.0], [90.0, 90.0]).solid_angles(Tiling::new(8, 4).unwrap());
    let first = parts[0];
    assert!(first > 0.1 && parts[..8].iter().all(|part| (part - first).abs() < 1e-12));
    assert!(parts[16..].iter().all(|part| *part == 0.0), "nothing below the equator");
}

#[test]
fn a_view_across_the_seam_sees_both_edges() {
    let parts = viewport([180.0, 0.0, 0.0], [60.0, 60.0]).solid_angles(Tiling::REFERENCE);
    let row = &parts[3 * 12..4 * 12];
    assert!(row[0] > 0.05 && (row[0] - row[11]).abs() < 1e-12);
    assert!(row[1..11].iter().all(|part| *part == 0.0));
}

#[test]
fn fields_of_view_are_those_of_flat_displays() {
    assert!(FieldOfView::from_degrees(180.0, 90.0).is_err());
    assert!(FieldOfView::from_degrees(90.0, 0.0).is_err());
    assert!(FieldOfView::from_degrees(f64::NAN, 90.0).is_err());
    let face = FieldOfView::from_degrees(90.0, 90.0).unwrap();
    assert!((face.solid_angle() - SPHERE / 6.0).abs() < 1e-12);
}

/// The weights of WS-PSNR by pixel, summed over each tile, are its share of the sphere.
#[test]
fn weights_of_pixels_add_up_to_those_of_tiles() {
    let (tiling, height) = (Tiling::REFERENCE, 1920);
    let total: f64 = (0..height).map(|row| ws_row_weight(row, height)).sum();
    for (row, share) in tiling.sphere_shares().chunks(12).map(|row| row[0]).enumerate() {
        let pixels = (row * height / 8)..((row + 1) * height / 8);
        let weight: f64 = pixels.map(|pixel| ws_row_weight(pixel, height)).sum();
        assert!((weight / total / 12.0 - share).abs() < 1e-6, "row {row}");
    }
}

#[test]
fn ws_psnr_counts_the_poles_less() {
    let tiling = Tiling::REFERENCE;
    let mut mse = vec![10.0; 96];
    assert!((ws_psnr_db(tiling, &mse) - psnr_db(10.0)).abs() < 1e-9);
    mse[..12].fill(1_000.0);
    assert!(ws_psnr_db(tiling, &mse) > panorama_psnr_db(&mse) + 3.0);
}
