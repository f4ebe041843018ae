slider.waiting = false;
if (!slider.playing) return;
const part = (all, k, n) => Float32Array.from({ length: n }, (_, i) => all[k * n + i]);
const count = slider.moments.length;
slider.moments.forEach((moment, k) => slider.store.push([moment, ahead.map((one) => Object.fromEntries(
  Object.entries(one.data).map(([name, all]) => [name, part(all, k, all.length / count)])))]));
