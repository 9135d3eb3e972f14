"""What makes sense in a table of layered real-time video, whoever encoded it."""

from statistics import fmean

from layer_clips import FRAMES
from layer_encode import KBPS, LAYERS, QUALITY_GOP, QUANTISER, TEMPORAL_GOP, rate

# Shares of the rate that the layers are cumulated to, as layers.c has them.
SHARES = (0.2, 0.5, 1.0)
# From this rate on the encoder can keep it; below, its coarsest quantiser may cost more.
KEPT_FROM = 5_000_000
RATE_TOLERANCE = 0.25
# dB by which a mean may fall where it should rise: a layer that gets few bits, or a codec's whim.
SLACK_DB = 0.1
LARGEST_FRAME = 1 << 24
LONGEST_DB = 100.0


def _column(name, column, low, high, kind):
    if len(column) != FRAMES:
        yield f"{name}: {len(column)} frames"
    bad = [value for value in column if not isinstance(value, kind) or not low <= value <= high]
    if bad:
        yield f"{name}: {len(bad)} values such as {bad[0]}"


def _columns(name, part):
    for column in ("bytes", "key_bytes"):
        if column in part:
            yield from _column(f"{name} {column}", part[column], 1, LARGEST_FRAME, int)
    yield from _column(f"{name} ssim_db", part["ssim_db"], 0, LONGEST_DB, float)


def _rises(name, means):
    for lower, upper in zip(means, means[1:]):
        if upper < lower - SLACK_DB:
            yield f"{name}: mean SSIM falls from {lower:.2f} to {upper:.2f} dB"


def _near(name, measured, target):
    if target >= KEPT_FROM and abs(measured / target - 1) > RATE_TOLERANCE:
        yield f"{name}: {measured} bit/s for {target}"


def _keys(name, sizes, gop):
    """Key frames are larger than the others, in the mean."""
    keys = fmean(sizes[::gop])
    others = fmean(size for at, size in enumerate(sizes) if at % gop)
    if keys <= others:
        yield f"{name}: key frames of {keys:.0f} bytes, others of {others:.0f}"


def _quality(part):
    if (part["gop"], part["layers"], len(part["encodings"])) != (QUALITY_GOP, LAYERS, len(KBPS)):
        yield "quality: GoP, layers or encodings"
    means = []
    for kbps, coded in zip(KBPS, part["encodings"]):
        name = f"quality at {kbps}"
        if coded["target_bps"] != kbps * 1000:
            yield f"{name}: target {coded['target_bps']}"
        if len({len(coded[column]) for column in ("bytes", "ssim_db")} | {FRAMES}) > 1:
            yield f"{name}: {len(coded['bytes'])} frames"
        for layer in range(LAYERS):
            one = {column: [frame[layer] for frame in coded[column]]
                   for column in ("bytes", "ssim_db")}
            yield from _columns(f"{name} layer {layer}", one)
        sums = [rate([sum(frame[:layer + 1]) for frame in coded["bytes"]])
                for layer in range(LAYERS)]
        if sums != coded["layer_bps"]:
            yield f"{name}: layer_bps is not what the sizes say"
        for share, measured in zip(SHARES, sums):
            yield from _near(f"{name} up to {share}", measured, share * kbps * 1000)
        layers = [fmean(frame[layer] for frame in coded["ssim_db"]) for layer in range(LAYERS)]
        yield from _rises(f"{name}, over layers", layers)
        means.append(layers)
        yield from _keys(name, [sum(frame) for frame in coded["bytes"]], QUALITY_GOP)
    for layer in range(LAYERS):
        yield from _rises(f"quality layer {layer}, over rates", [mean[layer] for mean in means])


def _single(part):
    for kbps, coded in zip(KBPS, part["encodings"]):
        name = f"single at {kbps}"
        if coded["target_bps"] != kbps * 1000:
            yield f"{name}: target {coded['target_bps']}"
        if rate(coded["bytes"]) != coded["measured_bps"]:
            yield f"{name}: measured_bps is not what the sizes say"
        yield from _columns(name, coded)
        yield from _near(name, coded["measured_bps"], kbps * 1000)
        if fmean(coded["key_bytes"]) <= fmean(coded["bytes"]):
            yield f"{name}: key frames are not larger"
    yield from _rises("single, over rates",
                      [fmean(coded["ssim_db"]) for coded in part["encodings"]])


def problems(table):
    """What is wrong with a table, in words; nothing if all is well."""
    found = [*_quality(table["quality"]), *_single(table["single"])]
    for name in ("temporal", "single_quantiser", "single_quantiser_gop"):
        part = table[name]
        found += _columns(name, part)
        if part["quantiser"] != QUANTISER or part.get("gop", TEMPORAL_GOP) != TEMPORAL_GOP:
            found.append(f"{name}: quantiser or GoP")
    for name in ("temporal", "single_quantiser_gop"):
        found += _keys(name, table[name]["bytes"], TEMPORAL_GOP)
    keyed, plain = table["single_quantiser"]["key_bytes"], table["single_quantiser"]["bytes"]
    if fmean(keyed) <= fmean(plain):
        found.append("single_quantiser: key frames are not larger")
    return found
