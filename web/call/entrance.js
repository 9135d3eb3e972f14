// The page on which a room is chosen.

import { byId } from "./ui.js";

const ROOM = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** A name that is hard to guess and easy to say: syllables of 60 random bits or so. */
function suggestion() {
  const consonants = "bdfgklmnprstvz", vowels = "aeiou";
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  let text = "";
  bytes.forEach((byte, i) => {
    const letters = i % 2 ? vowels : consonants;
    text += letters[byte % letters.length];
    if (i % 4 === 3 && i < bytes.length - 1) text += "-";
  });
  return text;
}

const room = /** @type {HTMLInputElement} */ (byId("room"));
room.value = suggestion();
room.select();

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = room.value.trim();
  if (!ROOM.test(name)) {
    room.setAttribute("aria-invalid", "true");
    byId("room-help").textContent =
      "This is no name of a room: use 1 to 64 letters, digits, dashes, dots and underscores, the first a letter or digit.";
    room.focus();
    return;
  }
  location.assign(`/${name}`);
});
