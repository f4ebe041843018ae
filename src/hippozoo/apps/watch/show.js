// COLUMNS (name, alarms, numbers in base64, marks), SOURCES and RANGE (ids of Bokeh's models) and UNIT stand before this.
const search = document.getElementById("wanted"), list = document.getElementById("columns");
const heading = document.getElementById("column");

const decode = (text) => {
  const numbers = new Float32Array(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
  const count = numbers.length / 6;
  return [...Array(6).keys()].map((k) => Array.from(numbers.subarray(k * count, (k + 1) * count)));
};

const show = (index) => {
  const [name, , start, text, marks] = COLUMNS[index];
  const [time, low, high, expected, lower, upper] = decode(text);
  const x = time.map((one) => (start + one) * UNIT);
  const known = x.map((_, k) => k).filter((k) => Number.isFinite(lower[k]) && Number.isFinite(upper[k]));
  const data = {
    band: { x: known.map((k) => x[k]), lower: known.map((k) => lower[k]), upper: known.map((k) => upper[k]) },
    expected: { x, y: expected },
    seen: { x: x.flatMap((one) => [one, one]), y: low.flatMap((one, k) => [one, high[k]]) },
    alarm: { x: marks.map((one) => one[0] * UNIT), y: marks.map((one) => one[1]), why: marks.map((one) => one[2]) },
  };
  for (const [part, id] of Object.entries(SOURCES)) page.model(id).data = data[part];
  const seen = data.seen.y.filter(Number.isFinite);
  const [least, most] = [Math.min(...seen), Math.max(...seen)];
  const margin = 0.15 * (most - least) || 1;
  const range = page.model(RANGE);
  range.setv(seen.length ? { start: least - margin, end: most + margin } : { start: 0, end: 1 });
  heading.textContent = name;
};

const fill = () => {
  const wanted = search.value.toLowerCase();
  const found = COLUMNS.map((_, index) => index).filter((k) => COLUMNS[k][0].toLowerCase().includes(wanted));
  list.replaceChildren(...found.map((k) => {
    const [name, alarms] = COLUMNS[k];
    return new Option(alarms ? `${name} (${alarms} alarm${alarms === 1 ? "" : "s"})` : name, k);
  }));
  if (found.length) { list.selectedIndex = 0; show(found[0]); }
};

search.addEventListener("input", fill);
list.addEventListener("change", () => show(Number(list.value)));
document.getElementById("alarms")?.addEventListener("click", (event) => {
  const cell = event.target.closest("tr")?.cells[2];
  const index = COLUMNS.findIndex(([name]) => name === cell?.textContent);
  if (index < 0) return;
  search.value = COLUMNS[index][0];
  fill();
  show(index);
  heading.scrollIntoView({ behavior: "smooth" });
});
fill();
