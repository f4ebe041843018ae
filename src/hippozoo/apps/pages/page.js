"use strict";
// ROLES, PAINTED and ITEMS are written before this script by hippozoo.apps.pages.
const page = (() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");

  const model = (id) => {
    const documents = window.Bokeh ? Bokeh.documents : [];
    return documents.map((one) => one.get_model_by_id(id)).find((found) => found) || null;
  };

  const paint = () => {
    const colours = ROLES[theme()];
    for (const [id, property, role, glyph] of PAINTED) {
      const one = model(id);
      if (one) one[property] = glyph ? { value: colours[role] } : colours[role];
    }
  };

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page from disk may have no clipboard; a selected text area always has one.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  document.querySelector("button.theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    paint();
  });
  system.addEventListener("change", paint);

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const flat = (cell) => cell.textContent.replace(/[\t\r\n]+/g, " ");
    const before = button.textContent;
    const text = () => document.getElementById(button.dataset.text).textContent;
    const rows = () => [...document.getElementById(button.dataset.table).querySelectorAll("tr")]
      .filter((row) => !row.hidden).map((row) => [...row.cells].map(flat).join("\t")).join("\n");
    await copy(button.dataset.text ? text() : rows());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  });

  const ready = (async () => {
    for (const [id, item] of ITEMS) await Bokeh.embed.embed_item(item, id);
    paint();
    root.dataset.ready = "yes";
  })();
  return { model, paint, ready, theme };
})();
