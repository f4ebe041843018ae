const tables = TABLES, find = (id) => document.getElementById("NAME-" + id);
const order = find("order"), timescale = find("timescale");
const show = () => {
  const said = [];
  for (const one of [order, timescale])
    document.getElementById(one.id + "-shown").textContent = JSON.parse(one.dataset.choices)[one.value];
  for (const [label, table] of Object.entries(tables)) {
    const source = page.model(table.source);
    const values = table.values[order.value][timescale.value].map((one) => one === null ? NaN : one);
    source.data = { ...source.data, y: values };
    said.push(`${label}: rms error ${table.errors[order.value][timescale.value]}`);
  }
  find("said").textContent = said.join("; ") + ", where something is remembered.";
};
order.addEventListener("input", show);
timescale.addEventListener("input", show);
show();
