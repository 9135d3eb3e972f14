// Makes the titles that several files of tests share, before these run beside each other.
import { whyNoBrowser } from "./chromium.mjs";
import { generatedTitles } from "./server.mjs";

if (!whyNoBrowser()) await generatedTitles();
