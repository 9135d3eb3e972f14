/* Encodes a raw clip with libvpx, decodes each layer, and prints what every frame costs and gives.

       layers quality  CLIP WIDTH HEIGHT FPS FRAMES SPEED KBPS GOP [verify]
       layers temporal CLIP WIDTH HEIGHT FPS FRAMES SPEED QUANTISER [verify]
       layers rate     CLIP WIDTH HEIGHT FPS FRAMES SPEED KBPS
       layers fixed    CLIP WIDTH HEIGHT FPS FRAMES SPEED QUANTISER GOP
       layers version

   CLIP is planar 4:2:0, 8 bits, frame after frame. A line per frame goes to standard output:

       quality   bytes of layers 0, 1, 2; luma SSIM after layers 0, 1, 2
       temporal  bytes, SSIM
       rate      bytes, bytes as a key frame, SSIM, quantiser
       fixed     the same; GOP 0 is a single key frame at the start

   `verify` also decodes without the upper layers and stops if a picture differs from that of
   the decoder that got everything: upper layers must not matter to lower ones.

   Build: cc -O3 -ffp-contract=off layers.c -o layers $(pkg-config --cflags --libs vpx) */

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

enum { LAYERS = 3, LARGEST_QUANTISER = 63, TEMPORAL_GOP = 8 };

/* Shares of the total in hundredths, cumulated over the quality layers. */
static const int SHARES[LAYERS] = { 20, 50, 100 };

typedef struct {
  const uint8_t *bytes;
  int width, height, fps, frames, speed;
} Clip;

static void die(const char *words, ...) {
  va_list list;
  va_start(list, words);
  vfprintf(stderr, words, list);
  va_end(list);
  fputc('\n', stderr);
  exit(1);
}

static void need(vpx_codec_err_t result, const char *what) {
  if (result != VPX_CODEC_OK) die("%s: %s", what, vpx_codec_err_to_string(result));
}

/* ---- The clip ---- */

static Clip open_clip(char **words) {
  Clip clip = { 0 };
  struct stat about;
  clip.width = atoi(words[1]);
  clip.height = atoi(words[2]);
  clip.fps = atoi(words[3]);
  clip.frames = atoi(words[4]);
  clip.speed = atoi(words[5]);
  size_t size = (size_t)clip.width * clip.height * 3 / 2 * clip.frames;
  int file = open(words[0], O_RDONLY);
  if (file < 0 || fstat(file, &about)) die("cannot read %s", words[0]);
  if (clip.width % 2 || clip.height % 2 || size == 0 || (size_t)about.st_size < size)
    die("%s has %lld bytes, not %zu", words[0], (long long)about.st_size, size);
  clip.bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (clip.bytes == MAP_FAILED) die("cannot map %s", words[0]);
  close(file);
  return clip;
}

static const uint8_t *luma(const Clip *clip, int frame) {
  return clip->bytes + (size_t)clip->width * clip->height * 3 / 2 * frame;
}

/* libvpx copies the source and leaves it as it is. */
static void wrap(const Clip *clip, int frame, vpx_image_t *image) {
  if (!vpx_img_wrap(image, VPX_IMG_FMT_I420, clip->width, clip->height, 1,
                    (uint8_t *)luma(clip, frame)))
    die("cannot wrap a frame");
}

/* ---- SSIM as ffmpeg's filter `ssim` has it: windows of 8x8, four samples apart ---- */

typedef struct {
  int a, b, squares, product;
} Sums;

static void sums_of_row(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride,
                        int blocks, Sums *out) {
  for (int block = 0; block < blocks; block++) {
    Sums sums = { 0 };
    for (int y = 0; y < 4; y++) {
      for (int x = 0; x < 4; x++) {
        int p = a[y * a_stride + block * 4 + x], q = b[y * b_stride + block * 4 + x];
        sums.a += p;
        sums.b += q;
        sums.squares += p * p + q * q;
        sums.product += p * q;
      }
    }
    out[block] = sums;
  }
}

static float window(const Sums *top, const Sums *bottom) {
  static const int c1 = (int)(.01 * .01 * 255 * 255 * 64 + .5);
  static const int c2 = (int)(.03 * .03 * 255 * 255 * 64 * 63 + .5);
  int a = top[0].a + top[1].a + bottom[0].a + bottom[1].a;
  int b = top[0].b + top[1].b + bottom[0].b + bottom[1].b;
  int squares = top[0].squares + top[1].squares + bottom[0].squares + bottom[1].squares;
  int product = top[0].product + top[1].product + bottom[0].product + bottom[1].product;
  int variances = squares * 64 - a * a - b * b;
  int covariance = product * 64 - a * b;
  return (float)(2 * a * b + c1) * (float)(2 * covariance + c2) /
         ((float)(a * a + b * b + c1) * (float)(variances + c2));
}

static double ssim(const Clip *clip, int frame, const vpx_image_t *shown) {
  static Sums *rows[2];
  int across = clip->width / 4, down = clip->height / 4;
  const uint8_t *source = luma(clip, frame);
  if ((int)shown->d_w != clip->width || (int)shown->d_h != clip->height)
    die("frame %d is shown as %ux%u", frame, shown->d_w, shown->d_h);
  for (int i = 0; i < 2; i++)
    if (!rows[i] && !(rows[i] = malloc(sizeof(Sums) * across))) die("no memory");
  double total = 0;
  for (int y = 0; y < down; y++) {
    Sums *above = rows[(y + 1) % 2], *here = rows[y % 2];
    sums_of_row(source + (size_t)y * 4 * clip->width, clip->width,
                shown->planes[0] + (size_t)y * 4 * shown->stride[0], shown->stride[0], across,
                here);
    if (y == 0) continue;
    float line = 0;
    for (int x = 0; x + 1 < across; x++) line += window(above + x, here + x);
    total += line;
  }
  return total / ((double)(across - 1) * (down - 1));
}

/* ---- Decoders ---- */

static void open_decoder(vpx_codec_ctx_t *decoder, vpx_codec_iface_t *codec) {
  vpx_codec_dec_cfg_t config = { .threads = 1 };
  need(vpx_codec_dec_init(decoder, codec, &config, 0), "decoder");
}

static vpx_image_t *decode(vpx_codec_ctx_t *decoder, const uint8_t *bytes, size_t size) {
  vpx_codec_iter_t at = NULL;
  need(vpx_codec_decode(decoder, bytes, (unsigned)size, NULL, 0), "decode");
  vpx_image_t *image = vpx_codec_get_frame(decoder, &at);
  if (!image) die("a frame gives no picture");
  return image;
}

static int same(const vpx_image_t *a, const vpx_image_t *b) {
  for (int plane = 0; plane < 3; plane++) {
    unsigned shift = plane > 0, wide = (a->d_w + shift) >> shift, high = (a->d_h + shift) >> shift;
    for (unsigned y = 0; y < high; y++)
      if (memcmp(a->planes[plane] + (size_t)y * a->stride[plane],
                 b->planes[plane] + (size_t)y * b->stride[plane], wide))
        return 0;
  }
  return 1;
}

/* ---- Encoders ---- */

/* Real time: no look-ahead, no dropped frames, one thread. */
static vpx_codec_enc_cfg_t settings(vpx_codec_iface_t *codec, const Clip *clip, int kbps) {
  vpx_codec_enc_cfg_t config;
  need(vpx_codec_enc_config_default(codec, &config, 0), "settings");
  config.g_w = clip->width;
  config.g_h = clip->height;
  config.g_timebase = (vpx_rational_t){ 1, clip->fps };
  config.g_threads = 1;
  config.g_pass = VPX_RC_ONE_PASS;
  config.g_lag_in_frames = 0;
  config.g_error_resilient = 0;
  config.rc_end_usage = VPX_CBR;
  config.rc_target_bitrate = kbps;
  config.rc_dropframe_thresh = 0;
  config.rc_resize_allowed = 0;
  config.rc_min_quantizer = 2;
  config.rc_max_quantizer = LARGEST_QUANTISER;
  config.rc_buf_initial_sz = 500;
  config.rc_buf_optimal_sz = 600;
  config.rc_buf_sz = 1000;
  config.rc_undershoot_pct = 50;
  config.rc_overshoot_pct = 50;
  config.kf_mode = VPX_KF_DISABLED; /* The flags say where key frames are. */
  return config;
}

static void hold_quantiser(vpx_codec_enc_cfg_t *config, int quantiser) {
  config->rc_min_quantizer = config->rc_max_quantizer = quantiser;
}

static void open_vp8(vpx_codec_ctx_t *encoder, const vpx_codec_enc_cfg_t *config, int speed) {
  need(vpx_codec_enc_init(encoder, vpx_codec_vp8_cx(), config, 0), "VP8 encoder");
  need(vpx_codec_control(encoder, VP8E_SET_CPUUSED, -speed), "speed");
  need(vpx_codec_control(encoder, VP8E_SET_NOISE_SENSITIVITY, 0), "noise");
  need(vpx_codec_control(encoder, VP8E_SET_STATIC_THRESHOLD, 1), "static threshold");
  /* Half of the optimal buffer, in per cent of a frame, as WebRTC sets it. */
  need(vpx_codec_control(encoder, VP8E_SET_MAX_INTRA_BITRATE_PCT, 900), "intra");
}

/* The one packet of a frame. */
static const vpx_codec_cx_pkt_t *encode(vpx_codec_ctx_t *encoder, const Clip *clip, int frame,
                                        vpx_enc_frame_flags_t flags) {
  vpx_image_t image;
  vpx_codec_iter_t at = NULL;
  const vpx_codec_cx_pkt_t *packet, *found = NULL;
  wrap(clip, frame, &image);
  need(vpx_codec_encode(encoder, &image, frame, 1, flags, VPX_DL_REALTIME), "encode");
  while ((packet = vpx_codec_get_cx_data(encoder, &at))) {
    if (packet->kind != VPX_CODEC_CX_FRAME_PKT) continue;
    if (found) die("frame %d came in two packets", frame);
    found = packet;
  }
  if (!found) die("frame %d was dropped", frame);
  if (!!(flags & VPX_EFLAG_FORCE_KF) != !!(found->data.frame.flags & VPX_FRAME_IS_KEY))
    die("frame %d: key frame or not", frame);
  return found;
}

static int last_quantiser(vpx_codec_ctx_t *encoder) {
  int quantiser = -1;
  need(vpx_codec_control(encoder, VP8E_GET_LAST_QUANTIZER_64, &quantiser), "quantiser");
  return quantiser;
}

/* ---- Quality layers: VP9 SVC of one picture size ---- */

static void open_quality(vpx_codec_ctx_t *encoder, const Clip *clip, int kbps, int gop) {
  vpx_codec_enc_cfg_t config = settings(vpx_codec_vp9_cx(), clip, kbps);
  vpx_svc_extra_cfg_t layers;
  /* Without it a layer's probabilities and motion vectors come from the frame that was decoded
     before it, which may be of a layer above. */
  config.g_error_resilient = VPX_ERROR_RESILIENT_DEFAULT;
  config.kf_mode = VPX_KF_AUTO;
  config.kf_min_dist = config.kf_max_dist = gop;
  config.ss_number_layers = LAYERS;
  config.ts_number_layers = 1;
  config.ts_rate_decimator[0] = 1;
  config.temporal_layering_mode = VP9E_TEMPORAL_LAYERING_MODE_NOLAYERING;
  memset(&layers, 0, sizeof layers);
  for (int layer = 0; layer < LAYERS; layer++) {
    int share = SHARES[layer] - (layer ? SHARES[layer - 1] : 0);
    config.ss_target_bitrate[layer] = config.layer_target_bitrate[layer] = kbps * share / 100;
    layers.scaling_factor_num[layer] = layers.scaling_factor_den[layer] = 1;
    layers.min_quantizers[layer] = config.rc_min_quantizer;
    layers.max_quantizers[layer] = config.rc_max_quantizer;
    layers.speed_per_layer[layer] = clip->speed;
  }
  need(vpx_codec_enc_init(encoder, vpx_codec_vp9_cx(), &config, 0), "VP9 encoder");
  need(vpx_codec_control(encoder, VP9E_SET_SVC, 1), "layers");
  need(vpx_codec_control(encoder, VP9E_SET_SVC_PARAMETERS, &layers), "layers' settings");
  need(vpx_codec_control(encoder, VP8E_SET_CPUUSED, clip->speed), "speed");
  need(vpx_codec_control(encoder, VP9E_SET_SVC_INTER_LAYER_PRED, 0), "inter-layer prediction");
  need(vpx_codec_control(encoder, VP9E_SET_AQ_MODE, 3), "adaptive quantisation");
  need(vpx_codec_control(encoder, VP9E_SET_NOISE_SENSITIVITY, 0), "noise");
  need(vpx_codec_control(encoder, VP8E_SET_STATIC_THRESHOLD, 1), "static threshold");
  need(vpx_codec_control(encoder, VP8E_SET_MAX_INTRA_BITRATE_PCT, 900), "intra");
}

/* Sizes of a superframe's frames, from the index at its end. */
static int split(const uint8_t *bytes, size_t size, size_t sizes[8]) {
  int marker = bytes[size - 1];
  int frames = (marker & 7) + 1, width = ((marker >> 3) & 3) + 1;
  size_t index = 2 + (size_t)frames * width, sum = 0;
  if ((marker & 0xe0) != 0xc0 || size < index || bytes[size - index] != marker) return 0;
  const uint8_t *at = bytes + size - index + 1;
  for (int frame = 0; frame < frames; frame++) {
    sizes[frame] = 0;
    for (int byte = 0; byte < width; byte++) sizes[frame] |= (size_t)*at++ << (8 * byte);
    sum += sizes[frame];
  }
  return sum + index == size ? frames : 0;
}

static void quality(const Clip *clip, int kbps, int gop, int verify) {
  vpx_codec_ctx_t encoder, decoder, partial[LAYERS - 1];
  open_quality(&encoder, clip, kbps, gop);
  open_decoder(&decoder, vpx_codec_vp9_dx());
  for (int upto = 0; upto + 1 < LAYERS; upto++) open_decoder(partial + upto, vpx_codec_vp9_dx());
  for (int frame = 0; frame < clip->frames; frame++) {
    const vpx_codec_cx_pkt_t *packet =
        encode(&encoder, clip, frame, frame % gop ? 0 : VPX_EFLAG_FORCE_KF);
    const uint8_t *at = packet->data.frame.buf;
    size_t sizes[8];
    double values[LAYERS];
    if (split(at, packet->data.frame.sz, sizes) != LAYERS) die("frame %d: layers", frame);
    /* Each layer is a frame that is shown; a decoder can be fed layer by layer. */
    for (int layer = 0; layer < LAYERS; layer++) {
      vpx_image_t *image = decode(&decoder, at, sizes[layer]);
      values[layer] = ssim(clip, frame, image);
      for (int upto = layer; verify && upto + 1 < LAYERS; upto++)
        if (!same(image, decode(partial + upto, at, sizes[layer])))
          die("frame %d: layer %d needs layers above %d", frame, layer, upto);
      at += sizes[layer];
    }
    for (int layer = 0; layer < LAYERS; layer++) printf("%zu ", sizes[layer]);
    printf("%.9f %.9f %.9f\n", values[0], values[1], values[2]);
  }
}

/* ---- Temporal layers: VP8 with three of them in a GoP of eight ---- */

/* References: 1 and 2 use 0; 3 uses 0 and 2; 4 uses 0; 5 and 6 use 4; 7 uses 4 and 6. Frames 0
   and 4 are kept as last, 2 and 6 as golden. No dropped frame may leave its probabilities. */
static const int TEMPORAL_LAYER[TEMPORAL_GOP] = { 0, 2, 1, 2, 0, 2, 1, 2 };

static vpx_enc_frame_flags_t temporal_flags(int place) {
  const vpx_enc_frame_flags_t last_alone = VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_REF_ARF;
  if (place == 0) return VPX_EFLAG_FORCE_KF;
  if (place == 4) return last_alone | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF;
  if (place % 4 == 2)
    return last_alone | VP8_EFLAG_NO_UPD_LAST | VP8_EFLAG_NO_UPD_ARF | VP8_EFLAG_NO_UPD_ENTROPY;
  return (place % 4 == 1 ? last_alone : VP8_EFLAG_NO_REF_ARF) | VP8_EFLAG_NO_UPD_LAST |
         VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF | VP8_EFLAG_NO_UPD_ENTROPY;
}

static void temporal(const Clip *clip, int quantiser, int verify) {
  static const int decimator[3] = { 4, 2, 1 };
  vpx_codec_ctx_t encoder, decoder, partial[2];
  vpx_codec_enc_cfg_t config = settings(vpx_codec_vp8_cx(), clip, 6000);
  hold_quantiser(&config, quantiser);
  config.ts_number_layers = 3;
  config.ts_periodicity = TEMPORAL_GOP;
  for (int place = 0; place < TEMPORAL_GOP; place++)
    config.ts_layer_id[place] = TEMPORAL_LAYER[place];
  for (int layer = 0; layer < 3; layer++) {
    config.ts_rate_decimator[layer] = decimator[layer];
    config.ts_target_bitrate[layer] = config.rc_target_bitrate * (layer + 2) / 4;
  }
  open_vp8(&encoder, &config, clip->speed);
  open_decoder(&decoder, vpx_codec_vp8_dx());
  for (int upto = 0; upto < 2; upto++) open_decoder(partial + upto, vpx_codec_vp8_dx());
  for (int frame = 0; frame < clip->frames; frame++) {
    int place = frame % TEMPORAL_GOP, layer = TEMPORAL_LAYER[place];
    need(vpx_codec_control(&encoder, VP8E_SET_TEMPORAL_LAYER_ID, layer), "temporal layer");
    const vpx_codec_cx_pkt_t *packet = encode(&encoder, clip, frame, temporal_flags(place));
    if (last_quantiser(&encoder) != quantiser) die("frame %d: another quantiser", frame);
    const uint8_t *bytes = packet->data.frame.buf;
    vpx_image_t *image = decode(&decoder, bytes, packet->data.frame.sz);
    for (int upto = layer; verify && upto < 2; upto++)
      if (!same(image, decode(partial + upto, bytes, packet->data.frame.sz)))
        die("frame %d needs frames of layers above %d", frame, upto);
    printf("%zu %.9f\n", packet->data.frame.sz, ssim(clip, frame, image));
  }
}

/* ---- A single layer: VP8, with what each frame costs as a key frame ---- */

static void single(const Clip *clip, vpx_codec_enc_cfg_t config, int gop) {
  vpx_codec_ctx_t encoder, keys, decoder;
  open_vp8(&encoder, &config, clip->speed);
  hold_quantiser(&config, LARGEST_QUANTISER);
  open_vp8(&keys, &config, clip->speed);
  open_decoder(&decoder, vpx_codec_vp8_dx());
  for (int frame = 0; frame < clip->frames; frame++) {
    int key = gop ? frame % gop == 0 : frame == 0;
    const vpx_codec_cx_pkt_t *packet = encode(&encoder, clip, frame, key ? VPX_EFLAG_FORCE_KF : 0);
    size_t size = packet->data.frame.sz;
    vpx_image_t *image = decode(&decoder, packet->data.frame.buf, size);
    int quantiser = last_quantiser(&encoder);
    hold_quantiser(&config, quantiser);
    need(vpx_codec_enc_config_set(&keys, &config), "settings");
    size_t key_size = encode(&keys, clip, frame, VPX_EFLAG_FORCE_KF)->data.frame.sz;
    if (last_quantiser(&keys) != quantiser) die("frame %d: another quantiser", frame);
    printf("%zu %zu %.9f %d\n", size, key_size, ssim(clip, frame, image), quantiser);
  }
}

int main(int count, char **words) {
  if (count == 2 && !strcmp(words[1], "version")) {
    puts(vpx_codec_version_str());
    return 0;
  }
  if (count < 9) die("see the first lines of layers.c");
  const char *kind = words[1];
  Clip clip = open_clip(words + 2);
  int number = atoi(words[8]), gop = count > 9 ? atoi(words[9]) : 0;
  int verify = !strcmp(words[count - 1], "verify");
  vpx_codec_enc_cfg_t config = settings(vpx_codec_vp8_cx(), &clip, number);
  if (!strcmp(kind, "quality") && gop > 0) {
    quality(&clip, number, gop, verify);
  } else if (!strcmp(kind, "temporal")) {
    temporal(&clip, number, verify);
  } else if (!strcmp(kind, "rate")) {
    single(&clip, config, 0);
  } else if (!strcmp(kind, "fixed")) {
    config.rc_target_bitrate = 6000;
    hold_quantiser(&config, number);
    single(&clip, config, gop);
  } else {
    die("no kind %s", kind);
  }
  return 0;
}
