// Encodings of the video that is sent: layers by codec, and their bitrates under a ceiling. Pure.

/** Bitrate that audio and headers take of a ceiling, bit/s. */
export const AUDIO_BPS = 50_000;
/** The least bitrate of video that encoders make something of, bit/s. */
export const MIN_VIDEO_BPS = 30_000;
/** Share of the bitrate of the lower one of two simulcast encodings. */
const LOWER_SHARE = 0.25;

/** Layers by codec, as RTCRtpEncodingParameters. The lowest encoding comes first. */
export function encodingsOf(codec, maxBps) {
  if (codec === "VP8") {
    return [
      { rid: "l", scaleResolutionDownBy: 2, scalabilityMode: "L1T3", maxBitrate: Math.round(maxBps * LOWER_SHARE) },
      { rid: "h", scaleResolutionDownBy: 1, scalabilityMode: "L1T3", maxBitrate: Math.round(maxBps * (1 - LOWER_SHARE)) },
    ];
  }
  return [{ scalabilityMode: "L2T3_KEY", maxBitrate: maxBps }];
}

/** Bitrate that video may have: what is left of a ceiling, within the most that it would ever have. */
export function videoBps(ceilingBps, maxBps) {
  if (ceilingBps === null || ceilingBps === undefined) return maxBps;
  return Math.round(Math.max(MIN_VIDEO_BPS, Math.min(maxBps, ceilingBps - AUDIO_BPS)));
}

/**
 * Encodings with their bitrates under a ceiling. Of simulcast the lower encoding keeps what it needs, and the upper
 * one is paused where nothing sensible is left for it.
 */
export function underCeiling(encodings, codec, bps, maxBps) {
  if (encodings.length < 2) return encodings.map((encoding) => ({ ...encoding, active: true, maxBitrate: bps }));
  const full = encodingsOf(codec, maxBps);
  const lower = Math.min(full[0].maxBitrate, bps), upper = bps - lower;
  const isUpperActive = upper >= MIN_VIDEO_BPS * 4;
  return encodings.map((encoding, i) => i === 0
    ? { ...encoding, active: true, maxBitrate: isUpperActive ? lower : bps }
    : { ...encoding, active: isUpperActive, maxBitrate: Math.max(upper, MIN_VIDEO_BPS) });
}

/** Encodings of which those above the index `max` are paused, as nobody gets them. */
export function upTo(encodings, max) {
  return encodings.map((encoding, i) => ({ ...encoding, active: encoding.active !== false && i <= max }));
}

/** Codecs in the order of a preference list of names; those that carry repairs and others come last. */
export function inOrder(codecs, names) {
  const rank = (codec) => {
    const at = names.findIndex((name) => codec.mimeType.toLowerCase() === `video/${name.toLowerCase()}`);
    return at < 0 ? names.length : at;
  };
  return codecs.map((codec, i) => ({ codec, i })).sort((a, b) => rank(a.codec) - rank(b.codec) || a.i - b.i)
    .map(({ codec }) => codec);
}

/**
 * The description with discontinuous transmission of Opus asked for (`usedtx`, RFC 7587, section 6.1): a silence takes
 * some packets a second and not fifty, on a channel of which each packet takes a turn.
 */
export function withDiscontinuousOpus(sdp) {
  const types = [...sdp.matchAll(/^a=rtpmap:(\d+) opus\//gim)].map(([, type]) => type);
  const asks = (line) => /[ ;]usedtx=/.test(line);
  return sdp.replace(/^a=fmtp:(\d+) .*$/gm, (line, type) =>
    types.includes(type) && !asks(line) ? `${line};usedtx=1` : line);
}
