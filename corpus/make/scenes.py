"""The kinds of shot that videos are made of, each an ffmpeg filter graph.

Every shot ends 1280x720 and may run for any number of frames. What makes one
hard to encode: fine detail (photographs at one source pixel per pixel),
motion that is no translation (ripples, flicker), speed, and grain.
"""

import random
from dataclasses import dataclass

from ladder import FPS

SIZE = "1280:720"
SIZE_X = "1280x720"
SYLLABLES = ("ka", "to", "ren", "mi", "sol", "da", "ver", "lu", "pen", "as", "or", "ti", "qua",
             "ne", "shi", "bel", "gro", "fa", "xen", "du")


@dataclass(frozen=True)
class Shot:
    label: str
    inputs: tuple
    graph: str  # ends in an open chain, which the caller closes with [out]


def grain(strength):
    """Film grain: noise drawn anew for each frame, with a fixed seed."""
    return f",noise=alls={strength}:allf=t" if strength else ""


def texture(strength):
    """Fine detail on a still: sharpened, and noise that moves with the picture."""
    return f",unsharp=5:5:1.2,noise=alls={strength}" if strength else ""


class Studio:
    def __init__(self, media, scratch):
        self.media = media
        self.scratch = scratch

    def _still(self, name):
        return ("-i", str(self.media / f"{name}.jpg"))

    def _font(self, name):
        return str(self.media / f"{name}.ttf")

    def _camera(self, zoom, rate, speed, phase, shake):
        """zoompan over a 2560x1440 picture: a swinging pan, a zoom, a shaking hand."""
        swing_x = f"0.5+0.48*sin(on*{speed}+{phase})"
        swing_y = f"0.5+0.45*sin(on*{speed}*0.7+{phase}*1.7)"
        hand_x = f"{shake}*(sin(on*0.9+{phase})+0.6*sin(on*2.3))"
        hand_y = f"{shake}*(sin(on*1.1)+0.6*sin(on*1.9+{phase}))"
        return (f"zoompan=z='max(1,{zoom}+{rate}*on)':x='(iw-iw/zoom)*({swing_x})+{hand_x}'"
                f":y='(ih-ih/zoom)*({swing_y})+{hand_y}':d=100000:s={SIZE_X}:fps={FPS}")

    def photo(self, name, phase=0, zoom=1.5, rate=0.0, speed=0.01, shake=0, noise=0, look="",
              detail=0):
        """The camera over a photograph. look: more filters, each with a comma before it."""
        graph = (
            "[0:v]scale=2560:1440:force_original_aspect_ratio=increase:out_range=tv,"
            f"crop=2560:1440,format=yuv420p{texture(detail)},"
            f"{self._camera(zoom, rate, speed, phase, shake)}{look}{grain(noise)}"
        )
        return Shot(f"photo {name}", self._still(name), graph)

    def ripple(self, name, phase=0, amount=40, speed=0.01, zoom=1.5, tscale=0.6, noise=0,
               look="", detail=0):
        """A photograph stirred by moving noise, as leaves by wind or a bed under water."""
        clouds = f"perlin=s=320x180:r={FPS}:octaves=3:xscale=6:yscale=6:tscale={tscale}:" \
                 f"random_mode=seed:random_seed={int(phase * 10) + 3}"
        # lutyuv shrinks the noise about 128, displace's zero.
        graph = (
            "[0:v]scale=2560:1440:force_original_aspect_ratio=increase:out_range=tv,"
            f"crop=2560:1440,format=yuv420p{texture(detail)},"
            f"{self._camera(zoom, 0, speed, phase, 0)}[pic];"
            f"[1:v]format=gray,lutyuv=y='128+(val-128)*{amount}/128',scale={SIZE},"
            "format=yuv444p,lutyuv=u=val:v=val,split[dx][dy];"
            f"[pic]format=yuv444p[full];[full][dx][dy]displace=edge=mirror{look}{grain(noise)}"
        )
        return Shot(f"ripple {name}", (*self._still(name), "-f", "lavfi", "-i", clouds), graph)

    def clip(self, name, start=0, rate=1.0, zoom=1.0, cx=0.5, cy=0.5, shake=0, noise=0,
             coarse=0, sharpen=0.0, look=""):
        """A real clip, played on and round, framed at `zoom` about (cx, cy).

        coarse: grain at half size, which survives the smaller rungs.
        """
        margin = 1 + shake / 150
        width, height = (int(side * zoom * margin) // 2 * 2 for side in (1280, 720))
        chain = f"[0:v]setpts=PTS/{rate},fps={FPS},format=yuv420p"
        if coarse:
            chain += f",scale=640:360:force_original_aspect_ratio=increase{grain(coarse)}"
        chain += (f",scale={width}:{height}:force_original_aspect_ratio=increase:flags=bicubic,"
                  f"crop={SIZE}:'(iw-ow)*{cx}+{shake}*(sin(n*0.8)+0.7*sin(n*0.31))'"
                  f":'(ih-oh)*{cy}+{shake}*(sin(n*0.67)+0.7*sin(n*1.7))':exact=1")
        if sharpen:
            chain += f",unsharp=7:7:{sharpen}"
        inputs = ("-stream_loop", "-1", "-ss", str(start), "-i", str(self.media / name))
        return Shot(f"clip {name}", inputs, chain + look + grain(noise))

    def head(self, back, place=0.5, size=1.0, start=0.0, noise=0, sharpen=1.5, ticker=None):
        """A speaking head in front of a soft still, with a moving line of text below."""
        height = int(600 * size) // 2 * 2
        graph = (
            "[0:v]scale=1280:720:force_original_aspect_ratio=increase:out_range=tv,"
            f"crop={SIZE},format=yuv420p,boxblur=6,loop=-1:1,setpts=N/{FPS}/TB[back];"
            f"[1:v]fps={FPS},format=yuv420p,scale=-2:{height}:flags=lanczos,"
            f"unsharp=9:9:{sharpen}[man];"
            f"[back][man]overlay=x='(W-w)*{place}':y='H-h'"
        )
        if ticker:
            graph += (f",drawbox=y=ih-70:h=70:color=black@0.8:t=fill,drawtext=fontfile="
                      f"{self._font('DejaVuSans')}:textfile={self._words(ticker, 60, 1)}"
                      ":fontsize=34:fontcolor=white:y=h-52:x=w*0.6-t*150")
        inputs = (*self._still(back), "-stream_loop", "-1", "-ss", str(start),
                  "-i", str(self.media / "carphone_pristine.mp4"))
        return Shot("head", inputs, graph + grain(noise))

    def _words(self, seed, words, lines):
        """A file of made-up words, the same for the same seed."""
        rng = random.Random(seed)
        text = "\n".join(
            " " * (4 * rng.randrange(0, 4) if lines > 1 else 0) + " ".join(
                "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4)))
                for _ in range(rng.randint(words // 2, words)))
            for _ in range(lines))
        path = self.scratch / f"words-{seed}-{words}-{lines}.txt"
        path.write_text(text)
        return path

    def text(self, seed, size=26, speed=40, dark=True, mono=True, noise=0, sideways=0, words=14):
        """A page of text scrolling at `speed` pixels per second (0: it stands)."""
        page, ink = ("0x1e1e2e", "0xd0d8f0") if dark else ("0xf6f4ee", "0x202020")
        font = self._font("DejaVuSansMono" if mono else "DejaVuSans")
        graph = (
            f"[0:v]drawtext=fontfile={font}:textfile={self._words(seed, words, 60)}:"
            f"fontsize={size}:fontcolor={ink}:line_spacing=8:x=40-t*{sideways}:y=30-t*{speed}"
            # A caret that blinks keeps even a still page alive.
            f",drawbox=x=60:y=650:w=14:h=28:color={ink}:t=fill:enable='lt(mod(t,1),0.5)'"
        )
        source = ("-f", "lavfi", "-i", f"color={page}:s={SIZE_X}:r={FPS}")
        return Shot(f"text {seed}", source, graph + grain(noise))

    def pitch(self, phase=0, speed=0.05, zoom=1.8, players=4, noise=0, shake=3,
              detail=0):
        """Sport: grass and a stand of spectators panned fast, players crossing them."""
        graph = (
            "[0:v]scale=2560:1440:force_original_aspect_ratio=increase:out_range=tv,"
            "crop=2560:1440,format=yuv420p[grass];"
            "[1:v]scale=2560:500:force_original_aspect_ratio=increase:out_range=tv,"
            "crop=2560:500,format=yuv420p,unsharp=5:5:1[stand];"
            f"[grass][stand]overlay=0:0{texture(detail)},{self._camera(zoom, 0, speed, phase, shake)}[field];"
            f"[2:v]fps={FPS},format=yuv420p,crop=90:140,scale=-2:240,unsharp=7:7:2,"
            f"split={players}" + "".join(f"[p{i}]" for i in range(players)) + ";"
        )
        last = "field"
        for i in range(players):
            x = f"W*(0.5+0.5*sin(t*{1.1 + 0.35 * i}+{i * 2 + phase}))-w/2"
            y = f"H*{0.35 + 0.12 * i}+40*sin(t*{5 + i})"
            graph += f"[{last}][p{i}]overlay=x='{x}':y='{y}'[f{i}];"
            last = f"f{i}"
        graph += f"[{last}]null{grain(noise)}"
        inputs = (*self._still("GreenMeadow"), *self._still("Elephants"),
                  "-stream_loop", "-1", "-i", str(self.media / "carphone_pristine.mp4"))
        return Shot("pitch", inputs, graph)

    def game(self, seed, tile=4, speed=0.008, sprites=5, rule="S23/B3", noise=0, world="life",
             pace=3):
        """Game: a blocky world that scrolls and lives (a step every `pace` frames), sprites."""
        width, height = 1280 // tile // 2 * 2, 720 // tile // 2 * 2
        if world == "life":
            source = (f"life=s={width}x{height}:r={FPS / pace}:rule={rule}:mold=12:ratio=0.25:"
                      f"seed={seed}:life_color=#60d060:death_color=#402818:mold_color=#604030")
        else:
            source = (f"cellauto=s={width}x{height}:r={FPS / pace}:rule={seed % 200 + 30}:"
                      f"seed={seed}:ratio=0.4")
        graph = (f"[0:v]format=yuv420p,fps={FPS},scale={SIZE}:flags=neighbor,"
                 f"scroll=h={speed}:v={speed / 3}[world];[1:v]format=yuv420p,"
                 f"scale=120:120,split={sprites}" + "".join(f"[s{i}]" for i in range(sprites)) + ";")
        last = "world"
        for i in range(sprites):
            x = f"W*(0.5+0.45*sin(t*{1 + 0.5 * i}+{i + seed}))-60"
            y = f"H*(0.5+0.4*cos(t*{1.7 + 0.3 * i}+{i * 3}))-60"
            graph += f"[{last}][s{i}]overlay=x='{x}':y='{y}'[g{i}];"
            last = f"g{i}"
        graph += (f"[{last}]drawtext=fontfile={self._font('DejaVuSansMono')}:fontsize=40:"
                  f"fontcolor=white:box=1:boxcolor=black:text='%{{n}} HP':x=30:y=30{grain(noise)}")
        inputs = ("-f", "lavfi", "-i", source, "-f", "lavfi", "-i", f"testsrc2=s=240x240:r={FPS}")
        return Shot(f"game {seed}", inputs, graph)

    def level(self, name, speed=0.006, phase=0, sprites=4, zoom=1.0, noise=0, detail=0):
        """Game: a painted landscape scrolling past, with sprites in front."""
        graph = (f"[0:v]scale={int(1280 * zoom)}:-2:out_range=tv,crop={SIZE},format=yuv420p{texture(detail)},"
                 f"loop=-1:1,setpts=N/{FPS}/TB,scroll=h={speed}:hpos={phase % 1}[world];"
                 f"[1:v]format=yuv420p,scale=100:100,split={sprites}"
                 + "".join(f"[s{i}]" for i in range(sprites)) + ";")
        last = "world"
        for i in range(sprites):
            x = f"W*(0.5+0.45*sin(t*{1.3 + 0.4 * i}+{i + phase}))-50"
            y = f"H*0.75-abs(sin(t*{3 + i}))*{150 + 40 * i}"
            graph += f"[{last}][s{i}]overlay=x='{x}':y='{y}'[g{i}];"
            last = f"g{i}"
        graph += f"[{last}]null{grain(noise)}"
        inputs = (*self._still(name), "-f", "lavfi", "-i", f"testsrc2=s=200x200:r={FPS}")
        return Shot(f"level {name}", inputs, graph)

    def fractal(self, x, y, start=2.0, end=0.3, noise=0, look=""):
        """A dive into the Mandelbrot set."""
        source = (f"mandelbrot=s={SIZE_X}:r={FPS}:start_x={x}:start_y={y}:start_scale={start}:"
                  f"end_scale={end}:end_pts=240:maxiter=600")
        return Shot("fractal", ("-f", "lavfi", "-i", source),
                    f"[0:v]format=yuv420p{look}{grain(noise)}")

    def lights(self, seed, name=None, speed=0.05, strobe=0.0, noise=0, depth=0.5):
        """A stage: coloured light sweeping, over a darkened picture if one is named."""
        source = f"gradients=s=640x360:r={FPS}:n=6:speed={speed}:seed={seed}:type=radial"
        flash = f",eq=brightness='{strobe}*sin(n*1.9)':eval=frame" if strobe else ""
        inputs = ["-f", "lavfi", "-i", source]
        graph = f"[0:v]format=yuv420p,scale={SIZE}"
        if name:
            inputs += self._still(name)
            graph = (
                "[1:v]scale=2560:1440:force_original_aspect_ratio=increase:out_range=tv,"
                f"crop=2560:1440,format=yuv420p,{self._camera(1.6, 0, 0.02, seed, 2)},"
                f"format=gbrp[scene];[0:v]scale={SIZE},format=gbrp[light];"
                f"[scene][light]blend=all_mode=multiply:all_opacity={depth},format=yuv420p"
            )
        return Shot(f"lights {seed}", tuple(inputs), graph + flash + grain(noise))

    def shapes(self, seed, kind="gradients", speed=0.01, count=4, noise=0):
        """Flat graphics: soft gradients, or the Sierpinski carpet, under plain boxes."""
        if kind == "gradients":
            source = f"gradients=s={SIZE_X}:r={FPS}:n=4:speed={speed}:seed={seed}"
        else:
            source = f"sierpinski=s={SIZE_X}:r={FPS}:type={kind}:seed={seed}"
        chain = "[0:v]format=yuv420p"
        rng = random.Random(seed)
        for i in range(count):
            colour = f"0x{rng.randrange(0x1000000):06x}"
            # drawbox cannot move by time; a solid glyph of drawtext can.
            chain += (f",drawtext=fontfile={self._font('DejaVuSans')}:text='■':"
                      f"fontsize={rng.randint(150, 500)}:fontcolor={colour}:"
                      f"x='w*(0.4+0.4*sin(t*{rng.uniform(0.3, 1.5):.2f}+{i}))':"
                      f"y='h*(0.3+0.4*sin(t*{rng.uniform(0.3, 1.5):.2f}+{i * 2}))'")
        return Shot(f"shapes {kind}", ("-f", "lavfi", "-i", source), chain + grain(noise))
