// What the pages ask for is what the server has.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("../../../web", import.meta.url));
const assets = JSON.parse(readFileSync(join(web, "assets.json"), "utf8"));

test("every asset is there, under the name of its file", () => {
  for (const [name, path] of Object.entries(assets)) {
    assert.ok(existsSync(join(web, path)), path);
    assert.equal(basename(path), name);
  }
});

test("every script and style of the pages is an asset, and every reference leads to one", () => {
  for (const folder of ["player", "live", "shared"]) {
    for (const file of readdirSync(join(web, folder))) {
      const text = readFileSync(join(web, folder, file), "utf8");
      if (file !== "index.html") assert.ok(assets[file], `${folder}/${file}`);
      const links = [...text.matchAll(/\/airlane\/assets\/([\w.-]+)/g), ...text.matchAll(/from "\.\/([\w.-]+)"/g)];
      for (const [, name] of links) assert.ok(assets[name], `${folder}/${file} asks for ${name}`);
    }
  }
});

test("the pages ask nobody else", () => {
  for (const page of ["player", "live"]) {
    const text = readFileSync(join(web, page, "index.html"), "utf8");
    assert.doesNotMatch(text, /(?:src|href)="(?:https?:)?\/\//);
  }
});

test("the embedded dash.js is the package's", () => {
  const packaged = fileURLToPath(new URL("../node_modules/dashjs/dist/modern/umd/dash.all.min.js", import.meta.url));
  assert.ok(readFileSync(packaged).equals(readFileSync(join(web, assets["dash.all.min.js"]))));
});
