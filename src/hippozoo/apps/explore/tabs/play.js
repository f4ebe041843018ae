// The browser asks for a dozen frames at a time and paints them from its own store, at most forty a second: a busy
// machine answers late, and the picture does not stop for it. What it paints is not sent back.
button.label = button.active ? "⏸ Pause" : "▶ Play";
if (!button.active) {
  if (slider.playing) button.tags = ["rest", slider.value];
  slider.playing = false;
  return;
}
if (slider.playing) return;
slider.playing = true; slider.waiting = false; slider.store = []; slider.asked_to = slider.value;
const count = 12;
let last = 0;
const ask = (now) => {
  if (slider.waiting && now - slider.since < 3000) return;
  slider.waiting = true; slider.since = now; slider.moments = [];
  for (let i = 0; i < count; i += 1) {
    const next = slider.asked_to + slider.tags[0];
    slider.asked_to = next > slider.end ? slider.start : next;
    slider.moments.push(slider.asked_to);
  }
  button.tags = ["ask", ...slider.moments];
};
const loop = (now) => {
  if (!slider.playing) return;
  requestAnimationFrame(loop);
  if (slider.store.length < count) ask(now);
  if (now - last < 24 || !slider.store.length) return;
  last = now;
  const [moment, frame] = slider.store.shift();
  frame.forEach((data, i) => shown[i].setv({ data: { ...shown[i].data, ...data } }, { sync: false }));
  slider.setv({ value: moment }, { sync: false });
};
requestAnimationFrame(loop);
