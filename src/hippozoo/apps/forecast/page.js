// RUN (the numbers) and SOURCES (ids of Bokeh's data sources) are written before this script.
const unpack = (text) => {
  const bytes = Uint8Array.from(atob(text), (mark) => mark.charCodeAt(0));
  return Array.from(new Float32Array(bytes.buffer));
};
const element = (id) => document.getElementById(id);
const short = (number) => (Number.isFinite(number) ? String(Number(number.toPrecision(6))) : "unknown");
const row = (cells, kind) => {
  const line = document.createElement("tr");
  cells.forEach((cell, place) => {
    const box = document.createElement(kind === "head" || place === 0 ? "th" : "td");
    box.textContent = cell;
    line.append(box);
  });
  return line;
};
let current = 0;

const show = (number) => {
  current = number;
  const column = RUN.columns[number];
  element("name").textContent = column.name;
  const said = column.verdict;
  element("verdict").textContent = said.charAt(0).toUpperCase() + said.slice(1) + ".";
  element("held").textContent = column.bands;
  element("by").textContent = column.by;
  const past = unpack(column.past);
  const ahead = column.ahead.map(unpack);
  const x = RUN.x.slice(RUN.past), when = RUN.when.slice(RUN.past);
  page.model(SOURCES.past).data = { x: RUN.x.slice(0, RUN.past), when: RUN.when.slice(0, RUN.past), y: past };
  const data = { x, when, mean: ahead[0] };
  RUN.shares.forEach((_, place) => {
    data[`lower${place}`] = ahead[1 + 2 * place];
    data[`upper${place}`] = ahead[2 + 2 * place];
  });
  page.model(SOURCES.ahead).data = data;
  if (SOURCES.back) {
    const every = (_, place) => place % RUN.thin === 0;
    page.model(SOURCES.back).data = { x: RUN.back.filter(every), y: unpack(column.back) };
    const made = column.made.map(([start, text]) => [start, unpack(text)]);
    const places = made.map(([start, values]) => values.map((_, place) => RUN.back[start + place * RUN.thin]));
    page.model(SOURCES.made).data = { xs: places, ys: made.map(([, values]) => values) };
    page.model(SOURCES.starts).data = { x: places.map((one) => one[0]), y: made.map(([, values]) => values[0]) };
  }
  if (SOURCES.errors) {
    const errors = { x: RUN.steps };
    column.errors.forEach((one, place) => { errors[`m${place}`] = unpack(one); });
    page.model(SOURCES.errors).data = errors;
  }
  if (SOURCES.kernels) {
    const kernels = column.inputs.map(([, , , kernel]) => unpack(kernel)).filter((one) => one.length);
    kernels.forEach((one, place) => { page.model(SOURCES.kernels[place]).data = { x: RUN.lags, y: one }; });
    element("inputs").tHead.replaceChildren(row(["input", "back-test", "moves by"], "head"));
    element("inputs").tBodies[0].replaceChildren(...column.inputs.map((one) => row(one.slice(0, 3))));
  }
  const head = ["time", "forecast", ...RUN.shares.flatMap((share) => [`${share} from`, `${share} to`])];
  element("numbers").tHead.replaceChildren(row(head, "head"));
  element("numbers").tBodies[0].replaceChildren(
    ...x.map((_, place) => row([when[place], ...ahead.map((one) => short(one[place]))])));
  for (const [id, text] of [["forecast", "Past and forecast of "], ["past", "Past forecasts and what came, of "],
    ["errors", "Errors in the back-test of "]]) {
    if (element(id)) element(id).setAttribute("aria-label", text + column.name + "; the numbers stand in a table");
  }
  if (element("column")) element("column").value = String(number);
  document.querySelectorAll("button.pick").forEach((one) => {
    one.setAttribute("aria-pressed", String(Number(one.dataset.column) === number));
  });
};

if (element("filter")) {
  const buttons = [...document.querySelectorAll("button.pick")];
  const filter = () => {
    const wanted = element("filter").value.toLowerCase();
    const fits = RUN.columns.map((column) => column.name.toLowerCase().includes(wanted));
    buttons.forEach((one) => { one.closest("tr").hidden = !fits[Number(one.dataset.column)]; });
    [...element("column").options].forEach((one) => { one.hidden = one.disabled = !fits[Number(one.value)]; });
    const count = fits.filter(Boolean).length;
    element("count").textContent = wanted ? `${count} of ${fits.length} columns` : "";
    if (count && !fits[current]) show(fits.indexOf(true));
  };
  element("filter").addEventListener("input", filter);
  element("column").addEventListener("change", () => show(Number(element("column").value)));
  buttons.forEach((one) => one.addEventListener("click", () => {
    show(Number(one.dataset.column));
    element("name").scrollIntoView({ block: "start" });
  }));
}
show(0);
