"use strict";
// Everything that comes from a database is put in as text; nothing here is ever read as HTML.
(() => {
  const EVERY = 3000, BATCH = 32;
  const root = document.documentElement, by = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const cards = new Map(), alarms = new Map();
  let may = false, shown = 30, first = true, newest = -Infinity;

  const make = (tag, text = "", kind = "") => {
    const one = document.createElement(tag);
    one.textContent = text;
    if (kind) one.className = kind;
    return one;
  };
  const put = (one, text) => { if (one.textContent !== text) one.textContent = text; };
  const number = (value) => {
    if (value === null || value === undefined) return "nothing";
    const rounded = Number(value.toPrecision(4));
    return Math.abs(rounded) >= 1e15 || (rounded && Math.abs(rounded) < 1e-4) ? String(rounded)
      : rounded.toLocaleString("en", { maximumSignificantDigits: 4 });
  };
  const clock = (seconds, database, long) => {
    if (!database.dates) return number(seconds);
    const text = new Date((seconds + database.offset) * 1000).toISOString();
    return long ? `${text.slice(0, 10)} ${text.slice(11, 16)}` : text.slice(11, 16);
  };

  // -- asking ----------------------------------------------------------------------------------------------------------

  const token = () => sessionStorage.getItem("token") || "";
  const call = async (path, content) => {
    const options = { headers: token() ? { Authorization: `Bearer ${token()}` } : {}, cache: "no-store" };
    if (content) Object.assign(options, { method: "POST", body: JSON.stringify(content) });
    const answer = await fetch(path, options);
    const body = await answer.json();
    if (answer.status === 401) unlock(body.error);
    if (!answer.ok) throw new Error(body.error);
    return body;
  };
  const unlock = (why) => {
    by("unlock").hidden = false;
    if (token()) say(`This is not the token of this server.`);
    else if (why) put(by("summary"), "The token of this server is needed.");
    sessionStorage.removeItem("token");
  };
  const say = (text) => {
    put(by("said"), text);
    clearTimeout(say.timer);
    say.timer = setTimeout(() => put(by("said"), ""), 8000);
  };
  const change = async (database, content) => {
    if (!token()) {
      unlock();
      by("token").focus();
      return say("Pass the token first.");
    }
    try {
      say((await call(`requests?database=${encodeURIComponent(database)}`, content)).outcome);
      await refresh();
    } catch (error) {
      say(error.message);
    }
  };

  // -- charts ----------------------------------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  const shape = (tag, attributes, text = "") => {
    const one = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    one.textContent = text;
    return one;
  };
  const draw = (card) => {
    const { points, alarms: marks } = card.day, { database, chart } = card;
    const width = chart.clientWidth || 300, height = chart.clientHeight || 110, foot = 14;
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `last 24 hours of ${card.name}` });
    const seen = points.flatMap((one) => [one[1], one[2]]).filter((one) => one !== null);
    if (!seen.length) {
      svg.append(shape("text", { x: 4, y: height / 2 }, points.length ? "only missing values" : "no readings yet"));
      return chart.replaceChildren(svg);
    }
    let low = Math.min(...seen), high = Math.max(...seen);
    const margin = 0.15 * (high - low) || Math.abs(high) * 0.05 || 1;
    low -= margin; high += margin;
    const begin = points[0][0], end = points[points.length - 1][0];
    const x = (time) => ((time - begin) / (end - begin || 1)) * (width - 8) + 4;
    const y = (value) => (1 - (Math.min(Math.max(value, low), high) - low) / (high - low)) * (height - foot);
    const at = (time, value) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
    const line = (rows) => { // broken where something is missing
      let text = "", pen = "M";
      for (const [time, value] of rows) {
        if (value === null) { pen = "M"; continue; }
        text += `${pen}${at(time, value)}`;
        pen = "L";
      }
      return text;
    };
    const known = points.filter((one) => one[4] !== null && one[5] !== null);
    if (known.length) {
      const band = [...known.map((one) => at(one[0], one[4])), ...known.reverse().map((one) => at(one[0], one[5]))];
      svg.append(shape("path", { class: "band", d: `M${band.join("L")}Z` }));
    }
    svg.append(shape("path", { class: "expected", d: line(points.map((one) => [one[0], one[3]])) }));
    const both = points.flatMap((one) => one[1] === one[2] ? [[one[0], one[1]]] : [[one[0], one[1]], [one[0], one[2]]]);
    svg.append(shape("path", { class: "seen", d: line(both) }));
    for (const [time, value] of marks) {
      const [a, b] = [x(time), y(value === null ? low : value)];
      svg.append(shape("path", { class: "alarm", d: `M${a} ${b - 6}l5 10h-10z` }));
    }
    svg.append(
      shape("text", { x: 2, y: 10 }, number(high)), shape("text", { x: 2, y: height - foot - 2 }, number(low)),
      shape("text", { x: 2, y: height - 2 }, clock(begin, database, true)),
      shape("text", { x: width - 2, y: height - 2, "text-anchor": "end" }, clock(end, database, true)),
    );
    chart.onpointermove = (event) => {
      const time = begin + ((event.clientX - chart.getBoundingClientRect().left - 4) / (width - 8)) * (end - begin);
      const near = points.reduce((best, one) => Math.abs(one[0] - time) < Math.abs(best[0] - time) ? one : best);
      put(card.now, `${clock(near[0], database, true)}: ${number(near[2])}; ${band(near[3], near[4], near[5])}`);
    };
    chart.onpointerleave = () => tell(card);
    chart.replaceChildren(svg);
  };
  const band = (expected, lower, upper) => expected === null ? "nothing expected yet"
    : `${number(expected)} expected${lower === null ? "" : ` (${number(lower)} to ${number(upper)})`}`;
  const visible = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const card = cards.get(target.dataset.key);
      if (isIntersecting) visible.add(card); else visible.delete(card);
    }
    fill();
  }, { rootMargin: "200px" });
  let filling = false;
  const fill = async () => {
    if (filling) return;
    filling = true;
    try {
      for (;;) {
        const wanted = [...visible].filter((card) => card.drawn !== card.stream.time || !card.day);
        if (!wanted.length) break;
        const name = wanted[0].database.name, some = wanted.filter((one) => one.database.name === name).slice(0, BATCH);
        const query = some.map((card) => `&channel=${card.stream.channel}`).join("");
        const times = some.map((card) => card.stream.time);
        const days = await call(`day.json?database=${encodeURIComponent(name)}${query}`);
        some.forEach((card, place) => {
          card.day = days[card.stream.channel];
          card.drawn = times[place];
          draw(card);
        });
      }
      root.dataset.ready = "yes";
    } catch (error) { /* the next refresh says so, and asks again */ }
    filling = false;
  };

  // -- streams ---------------------------------------------------------------------------------------------------------

  const tell = (card) => {
    const one = card.stream;
    put(card.now, one.time === null ? "no readings yet" : `${number(one.value)}; ${band(one.expected, one.lower, one.upper)}`);
  };
  const begin = (database, stream, key) => {
    const card = { key, database, stream, name: stream.name, drawn: undefined, day: null };
    card.box = make("article", "", "stream");
    card.box.dataset.key = key;
    card.now = make("p");
    card.state = make("span");
    card.chart = make("button", "", "chart");
    card.chart.type = "button";
    card.chart.setAttribute("aria-label", `chart of ${stream.name}: larger or smaller`);
    card.chart.onclick = () => { card.box.classList.toggle("large"); if (card.day) draw(card); };
    card.mute = make("select");
    card.mute.setAttribute("aria-label", `mute ${stream.name}`);
    for (const [value, text] of [["", "Mute…"], ["1h", "for 1 hour"], ["8h", "for 8 hours"], ["1d", "for 1 day"], ["ever", "for good"]]) {
      const option = make("option", text);
      option.value = value;
      card.mute.append(option);
    }
    card.mute.onchange = () => {
      const until = card.mute.value;
      card.mute.value = "";
      if (until) change(database.name, { mute: stream.name, until: until === "ever" ? null : until });
    };
    card.unmute = make("button", "Unmute");
    card.unmute.type = "button";
    card.unmute.onclick = () => change(database.name, { unmute: stream.name });
    const actions = make("div", "", "actions");
    actions.append(card.state, card.mute, card.unmute);
    card.box.append(make("h3", stream.name), card.now, card.chart, actions);
    by("streams").append(card.box);
    cards.set(key, card);
    watcher.observe(card.box);
    return card;
  };
  const update = (database) => {
    for (const stream of database.streams) {
      const key = `${database.name}\n${stream.channel}`;
      const card = cards.get(key) || begin(database, stream, key);
      Object.assign(card, { database, stream });
      if (!card.chart.matches(":hover")) tell(card);
      const open = stream.event !== undefined;
      card.box.classList.toggle("event", open);
      card.box.style.order = open ? 0 : 1;
      put(card.state, [open ? `${stream.severity} event${stream.acknowledged ? ", acknowledged" : ""}` : "",
        stream.muted ? `muted ${stream.muted}` : ""].filter(Boolean).join("; "));
      card.mute.hidden = !may;
      card.unmute.hidden = !may || !stream.muted;
    }
  };
  const filter = () => {
    const text = by("search").value.trim().toLowerCase(), which = by("show").value;
    let count = 0;
    for (const card of cards.values()) {
      const fits = card.name.toLowerCase().includes(text) && (which === "all" || card.stream[which] !== undefined);
      card.box.hidden = !fits;
      count += fits;
    }
    for (const { box, alarm } of alarms.values()) {
      const fits = `${alarm.column} ${alarm.sentence}`.toLowerCase().includes(text);
      box.hidden = !fits || (which === "event" && !alarm.open) || (which === "muted" && !alarm.muted);
    }
    put(by("count"), `${count} of ${cards.size}`);
  };

  // -- alarms ----------------------------------------------------------------------------------------------------------

  const updateAlarms = (list) => {
    const keep = new Set();
    for (const alarm of list) {
      const key = `${alarm.database}\n${alarm.id}`;
      keep.add(key);
      let row = alarms.get(key);
      if (!row) {
        row = { box: make("li"), state: make("small"), button: make("button", "Acknowledge") };
        row.button.type = "button";
        row.button.onclick = () => change(alarm.database, { acknowledge: alarm.id });
        const words = make("div", alarm.sentence);
        words.append(row.state);
        row.box.append(make("time", alarm.time), words, row.button);
        if (!first && alarm.moment > newest) row.box.classList.add("new");
        alarms.set(key, row);
      }
      row.alarm = alarm;
      row.box.classList.toggle("open", alarm.open);
      put(row.state, [alarm.severity, alarm.open ? "still on" : alarm.ended === null ? "" : `back to normal since ${alarm.ended}`,
        alarm.acknowledged === null ? "" : "acknowledged", alarm.muted ? "muted" : ""].filter(Boolean).join(", "));
      row.button.hidden = !may || alarm.acknowledged !== null || alarm.event === null;
    }
    for (const [key, row] of alarms) if (!keep.has(key)) { row.box.remove(); alarms.delete(key); }
    const boxes = list.map((alarm) => alarms.get(`${alarm.database}\n${alarm.id}`).box);
    if (boxes.some((box, place) => by("alarms").children[place] !== box)) by("alarms").replaceChildren(...boxes);
    newest = Math.max(newest, ...list.map((alarm) => alarm.moment));
    by("older").hidden = list.length < shown;
  };

  // -- databases -------------------------------------------------------------------------------------------------------

  const panels = new Map();
  const updateDatabase = (database) => {
    let panel = panels.get(database.name);
    if (!panel) {
      panel = { box: make("div", "", "database"), state: make("span"), form: make("form"), rate: make("input"), log: make("ul"), details: make("details") };
      Object.assign(panel.rate, { type: "number", step: "any", min: "0", max: "1000", required: true });
      const label = make("label", "Alarms per 1,000 normal readings ");
      label.append(panel.rate);
      panel.form.append(label, make("button", "Change the rate"));
      panel.form.onsubmit = (event) => {
        event.preventDefault();
        panel.rate.blur();
        change(database.name, { rate: Number(panel.rate.value) });
      };
      panel.details.append(make("summary", "Requests"), panel.log);
      const line = make("p");
      panel.words = make("span");
      line.append(panel.words, panel.state);
      panel.box.append(make("h3", database.name), line, panel.form, panel.details);
      by("databases").append(panel.box);
      panels.set(database.name, panel);
    }
    panel.state.className = database.watched ? "" : "bad";
    if (database.error) {
      put(panel.words, "");
      return put(panel.state, database.error);
    }
    const waiting = Object.entries(database.waiting).map(([sink, count]) => `${count} alarms wait for ${sink}`);
    put(panel.words, [`${database.source}: ${database.readings.toLocaleString("en")} readings up to ${database.time ?? "now"}`,
      `${database.alarms.toLocaleString("en")} alarm${database.alarms === 1 ? "" : "s"}`, ...waiting, ""].join("; "));
    put(panel.state, database.watched ? "a watch is running" : "no watch is running");
    if (document.activeElement !== panel.rate) panel.rate.value = database.rate;
    panel.form.hidden = !may;
    panel.details.hidden = !database.requests.length;
    panel.log.replaceChildren(...database.requests.map((one) => make("li",
      `${new Date(one.made * 1000).toLocaleString()}: ${JSON.stringify(one.request)}: ${one.applied === null ? "waiting for the watch" : one.outcome}`)));
  };

  // -- all of it, again and again --------------------------------------------------------------------------------------

  const refresh = async () => {
    try {
      const [found, told] = await Promise.all([call("streams.json"), call(`alarms.json?count=${shown}`)]);
      may = found.changes;
      by("readonly").hidden = may;
      by("unlock").hidden = !may || Boolean(token());
      found.databases.forEach(updateDatabase);
      found.databases.filter((one) => !one.error).forEach(update);
      updateAlarms(told.alarms);
      filter();
      fill();
      const open = told.alarms.filter((one) => one.open && one.acknowledged === null).length;
      const events = new Set(found.databases.flatMap((one) => one.streams.filter((s) => s.event !== undefined).map((s) => `${one.name}\n${s.event}`)));
      const idle = found.databases.filter((one) => one.error || !one.watched).length;
      put(by("summary"), `${cards.size} streams, ${events.size ? `${events.size} open event${events.size > 1 ? "s" : ""}` : "no open event"}` +
        (idle ? `; ${idle === found.databases.length ? "no watch is running" : `${idle} of ${found.databases.length} databases without a watch`}` : ""));
      by("summary").classList.remove("lost");
      document.title = `${open ? `(${open}) ` : ""}Watched streams`;
      first = false;
    } catch (error) {
      if (!by("summary").textContent.includes("token")) put(by("summary"), `No answer (${error.message}); trying again.`);
      by("summary").classList.add("lost");
    }
  };
  const loop = async () => {
    if (!document.hidden) await refresh();
    setTimeout(loop, EVERY);
  };

  document.querySelector("button.theme").onclick = () => {
    root.dataset.theme = (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark" ? "light" : "dark";
  };
  by("search").oninput = filter;
  by("show").onchange = filter;
  by("older").onclick = () => { shown = Math.min(shown * 4, 1000); refresh(); };
  by("unlock").onsubmit = (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", by("token").value.trim());
    by("token").value = "";
    refresh();
  };
  let wide = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === wide) return;
    wide = innerWidth;
    for (const card of visible) if (card.day) draw(card);
  });
  loop();
})();
