// Where the labels of the report's charts go.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const script = readFileSync(new URL("../../../web/labels.js", import.meta.url), "utf8");
const labels = vm.runInNewContext(`${script}\nairlaneLabels`);

const cover = (a, b) => Math.min(a.x + a.width, b.x + b.width) > Math.max(a.x, b.x) &&
  Math.min(a.y + a.height, b.y + b.height) > Math.max(a.y, b.y);

/** Labels as boxes, after a look at whether they keep to the rules. */
function placed(points, plane, taken = []) {
  const found = labels(points, plane, taken, []);
  assert.equal(found.length, points.length);
  const boxes = found.map(({ x, y }, i) => ({ x, y, width: points[i].width, height: points[i].height }));
  boxes.forEach((b, i) => {
    assert.ok(found[i].clear, `label ${i} has room`);
    assert.ok(b.x >= 0 && b.y >= 0 && b.x + b.width <= plane.width && b.y + b.height <= plane.height);
    boxes.slice(i + 1).forEach((c, k) => assert.ok(!cover(b, c), `labels ${i} and ${i + 1 + k}`));
    for (const t of taken) assert.ok(!cover(b, t), `label ${i} keeps clear of what is there`);
    for (const p of points) {
      assert.ok(!cover(b, { x: p.x - 5, y: p.y - 5, width: 10, height: 10 }), `label ${i} covers no point`);
    }
  });
  return found;
}

const point = (x, y, width = 90) => ({ x, y, width, height: 16 });

test("a label alone stands to the right of its point, at the right edge to the left", () => {
  const plane = { width: 400, height: 300 };
  const [right] = placed([point(100, 100)], plane);
  assert.ok(right.x > 100 && right.x < 115 && !right.far);
  const [left] = placed([point(390, 100)], plane);
  assert.ok(left.x + 90 < 390);
});

test("labels of points in one place are told apart, on a narrow screen too", () => {
  const crowd = Array.from({ length: 12 }, (_, i) => point(150 + (i % 4) * 6, 170 + Math.floor(i / 4) * 5));
  const found = placed(crowd, { width: 330, height: 340 });
  assert.ok(found.some((l) => l.far), "some are joined to their points by a line");
  assert.deepEqual(labels(crowd, { width: 330, height: 340 }, [], []), found, "the same every time");
});

test("labels keep clear of what stands there already", () => {
  const corner = { x: 0, y: 0, width: 80, height: 24 };
  placed([point(20, 12), point(90, 12), point(60, 40)], { width: 330, height: 200 }, [corner]);
});

test("a label without room says so", () => {
  const [label] = labels([point(20, 20, 200)], { width: 100, height: 100 }, [], []);
  assert.equal(label.clear, false);
});
