/* The timeline: a canvas with a strip of all events, and a row for each of the
   busiest processes. */
function timeline(t, span, canvas, line, input, found) {
  const STRIP = 46, ROW = 22, GUTTER = 190, AXIS = 18, SHORTEST = 100;
  const n = t.slices.length / 5;
  /* A call can begin before the first event, if only its end was recorded. */
  let begin = 0;
  for (let i = 0; i < n; i++) begin = Math.min(begin, t.slices[5 * i + 2]);
  const end = Math.max(span, begin + SHORTEST);
  const lanes = t.lanes.map(() => []);
  for (let i = 0; i < n; i++) lanes[t.slices[5 * i]].push(i);
  /* The depth of the outermost calls of each row; wide bars are drawn first. */
  const outer = lanes.map(l => l.reduce((a, i) => Math.min(a, t.slices[5 * i + 4] >> 2), 1e9));
  const slice = i => ({ lane: t.slices[5 * i],
    name: t.slices[5 * i + 1] ? t.functions[t.slices[5 * i + 1] - 1] :
      (t.slices[5 * i + 4] & 3) === 2 ? 'garbage collection' : '?',
    at: t.slices[5 * i + 2], ns: t.slices[5 * i + 3],
    depth: t.slices[5 * i + 4] >> 2, kind: t.slices[5 * i + 4] & 3 });
  const most = Math.max(1, ...t.bins.map(b => b[0]));
  const laneMost = t.lanes.map(l => Math.max(1, ...l.bins));
  let from = begin, to = end, top = 0, selected = -1, hits = null, order = [];
  let width = 0, height = 0, css = {};
  const hues = t.functions.map(hue);

  function colours() {
    const s = getComputedStyle(document.documentElement);
    for (const k of ['ink', 'paper', 'panel', 'line', 'soft', 'bar', 'bad', 'warn', 'gc', 'mark',
      'accent', 'light', 'strength'])
      css[k] = s.getPropertyValue('--' + k).trim();
  }
  const x = at => GUTTER + (at - from) / (to - from) * (width - GUTTER);
  const time = px => from + (px - GUTTER) / (width - GUTTER) * (to - from);
  const narrow = () => width < 560;
  function size() {
    width = canvas.clientWidth || 800;
    height = Math.min(STRIP + AXIS + Math.max(3, t.lanes.length) * ROW, 520);
    const r = window.devicePixelRatio || 1;
    canvas.width = width * r;
    canvas.height = height * r;
    canvas.style.height = height + 'px';
    canvas.getContext('2d').setTransform(r, 0, 0, r, 0, 0);
  }
  function axis(g) {
    let step = Math.pow(10, Math.ceil(Math.log10((to - from) / 8)));
    if ((to - from) / step < 3) step /= 5;
    else if ((to - from) / step < 5) step /= 2;
    g.fillStyle = css.soft;
    g.strokeStyle = css.line;
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      g.beginPath();
      g.moveTo(x(at), STRIP);
      g.lineTo(x(at), height);
      g.stroke();
      if (x(at) < width - 60) g.fillText(ns(at), x(at) + 3, STRIP + 13);
    }
  }
  function strip(g) {
    const all = i => t.begin_ns + i * t.bin_ns;
    t.bins.forEach((b, i) => {
      const a = x(all(i)), w = Math.max(1, x(all(i + 1)) - a);
      if (a + w < GUTTER || a > width) return;
      const left = Math.max(a, GUTTER), right = Math.min(a + w, width);
      const bar = (v, c) => {
        const h = v ? Math.max(2, (STRIP - 6) * Math.sqrt(Math.min(1, v / most))) : 0;
        g.fillStyle = c;
        g.fillRect(left, STRIP - h, right - left, h);
      };
      bar(b[0], css.bar);
      bar(b[1], css.bad);
      if (b[2]) {
        g.fillStyle = css.warn;
        g.fillRect(left, 0, Math.max(2, right - left), 5);
      }
    });
  }
  function lane(g, l, y) {
    const info = t.lanes[l];
    g.fillStyle = css.line;
    g.fillRect(GUTTER, y + ROW - 1, width - GUTTER, 1);
    g.globalAlpha = .35;
    g.fillStyle = css.bar;
    info.bins.forEach((v, i) => {
      if (!v) return;
      const a = Math.max(GUTTER, x(t.begin_ns + i * t.bin_ns));
      const b = Math.min(width, x(t.begin_ns + (i + 1) * t.bin_ns));
      const h = Math.max(1, (ROW - 4) * Math.sqrt(v / laneMost[l]));
      if (b > a) g.fillRect(a, y + ROW - 2 - h, Math.max(1, b - a), h);
    });
    g.globalAlpha = 1;
    for (const i of lanes[l]) {
      const s = slice(i), a = x(s.at), b = x(s.at + s.ns);
      if (b < GUTTER || a > width) continue;
      const left = Math.max(a, GUTTER), w = Math.max(1, Math.min(b, width) - left);
      const h = s.kind === 2 ? 4 : 
        Math.max(5, ROW - 4 - 4 * Math.min(s.depth - outer[l], 3));
      g.globalAlpha = hits && !hits.has(i) ? .15 : 1;
      g.fillStyle = s.kind === 1 ? css.bad : s.kind === 2 ? css.gc :
        `hsl(${hues[t.slices[5 * i + 1] - 1]} ${css.strength} ${css.light})`;
      g.fillRect(left, y + ROW - 2 - h, w, h);
      if (i === selected) {
        g.strokeStyle = css.ink;
        g.lineWidth = 2;
        g.strokeRect(left - 1, y + ROW - 3 - h, w + 2, h + 2);
        g.lineWidth = 1;
      }
      if (w > 60 && h > 10 && s.kind !== 2) {
        g.save();
        g.beginPath();
        g.rect(left, y, w, ROW);
        g.clip();
        g.fillStyle = css.ink;
        g.fillText(s.name, left + 3, y + ROW - 6);
        g.restore();
      }
    }
    g.globalAlpha = 1;
    g.fillStyle = css.panel;
    g.fillRect(0, y, GUTTER - 4, ROW - 1);
    g.fillStyle = css.ink;
    g.fillText(cut(info.name, narrow() ? 14 : 27), 4, y + ROW - 7);
  }
  function draw() {
    const g = canvas.getContext('2d');
    g.clearRect(0, 0, width, height);
    g.font = '11px ui-monospace, monospace';
    strip(g);
    axis(g);
    g.save();
    g.beginPath();
    g.rect(0, STRIP + AXIS, width, height);
    g.clip();
    for (let l = 0; l < t.lanes.length; l++) {
      const y = STRIP + AXIS + l * ROW - top;
      if (y > STRIP && y < height) lane(g, l, y);
      else if (y > -ROW && y <= STRIP) lane(g, l, y);
    }
    g.restore();
    g.fillStyle = css.soft;
    g.fillText('all events', 4, 14);
    g.fillText(ns(from) + ' + ' + ns(to - from), 4, 30);
  }
  let asked = false;
  function later() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  }
  function clamp() {
    const w = Math.min(Math.max(to - from, SHORTEST), end - begin);
    from = Math.min(Math.max(from, begin), end - w);
    to = from + w;
    top = Math.max(0, Math.min(top, t.lanes.length * ROW - (height - STRIP - AXIS)));
    later();
  }
  function zoom(by, at) {
    const mid = at === undefined ? (from + to) / 2 : at;
    from = mid - (mid - from) * by;
    to = mid + (to - mid) * by;
    clamp();
  }
  function pan(part) {
    const d = (to - from) * part;
    from += d;
    to += d;
    clamp();
  }
  function say(i) {
    const s = slice(i), l = t.lanes[s.lane];
    line.textContent = `${s.name}: ${ns(s.ns)} at ${ns(s.at)}` +
      (s.kind === 1 ? ', failed' : '') + `, in ${l.name} ${l.pid} of ${l.node}`;
  }
  function select(i) {
    const s = slice(i);
    selected = i;
    const w = Math.max(Math.min(to - from, (end - begin) / 2), s.ns * 4);
    from = s.at + s.ns / 2 - w / 2;
    to = from + w;
    const y = s.lane * ROW;
    if (y < top || y > top + height - STRIP - AXIS - ROW) top = y - 60;
    say(i);
    clamp();
  }
  function hit(px, py) {
    const l = Math.floor((py - STRIP - AXIS + top) / ROW);
    if (py < STRIP + AXIS || px < GUTTER || !lanes[l]) return -1;
    const at = time(px), slack = (to - from) / (width - GUTTER) * 3;
    let best = -1;
    for (const i of lanes[l]) {
      const s = slice(i);
      if (at >= s.at - slack && at <= s.at + s.ns + slack &&
          (best < 0 || s.ns < slice(best).ns)) best = i;
    }
    return best;
  }
  function search() {
    const q = input.value.toLowerCase();
    const fn = t.functions.map(f => f.toLowerCase().includes(q));
    const ln = t.lanes.map(l =>
      (l.name + ' ' + l.pid + ' ' + l.node).toLowerCase().includes(q));
    hits = q ? new Set() : null;
    order = [];
    for (let i = 0; q && i < n; i++)
      if (ln[t.slices[5 * i]] || (t.slices[5 * i + 1] && fn[t.slices[5 * i + 1] - 1])) {
        hits.add(i);
        order.push(i);
      }
    order.sort((a, b) => t.slices[5 * a + 2] - t.slices[5 * b + 2]);
    found.textContent = q ? num(order.length) + ' of ' + num(n) + ' bars; Enter or n: next' : '';
    const first = ln.indexOf(true);
    if (q && !order.length && first >= 0) top = first * ROW;
    clamp();
  }
  function nextHit(step) {
    const list = order.length ? order : hits ? [] : [...Array(n).keys()];
    if (!list.length) return;
    const at = list.indexOf(selected);
    select(list[(at + step + list.length) % list.length]);
  }
  canvas.addEventListener('keydown', e => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const keys = { ArrowLeft: () => pan(-.2), ArrowRight: () => pan(.2),
      ArrowUp: () => { top -= ROW * 3; clamp(); }, ArrowDown: () => { top += ROW * 3; clamp(); },
      '+': () => zoom(.6), '=': () => zoom(.6), '-': () => zoom(1 / .6),
      Home: () => { from = begin; to = end; clamp(); }, 0: () => { from = begin; to = end; clamp(); },
      n: () => nextHit(1), p: () => nextHit(-1), '/': () => input.focus() };
    if (!keys[e.key]) return;
    keys[e.key]();
    e.preventDefault();
  });
  canvas.addEventListener('wheel', e => {
    if (!e.ctrlKey && document.activeElement !== canvas) return;
    e.preventDefault();
    if (e.shiftKey) pan(Math.sign(e.deltaY || e.deltaX) * .1);
    else zoom(e.deltaY > 0 ? 1.25 : .8, time(Math.max(GUTTER, e.offsetX)));
  }, { passive: false });
  let drag = null;
  canvas.addEventListener('pointerdown', e => {
    drag = { x: e.offsetX, y: e.offsetY, from: from, to: to, top: top, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', e => {
    if (!drag) {
      const i = hit(e.offsetX, e.offsetY);
      if (i >= 0) say(i);
      return;
    }
    const d = (drag.x - e.offsetX) / (width - GUTTER) * (drag.to - drag.from);
    drag.moved = drag.moved || Math.abs(drag.x - e.offsetX) + Math.abs(drag.y - e.offsetY) > 4;
    from = drag.from + d;
    to = drag.to + d;
    top = drag.top + drag.y - e.offsetY;
    clamp();
  });
  canvas.addEventListener('pointerup', e => {
    if (drag && !drag.moved) {
      const i = hit(e.offsetX, e.offsetY);
      if (i >= 0) { selected = i; say(i); later(); }
    }
    drag = null;
  });
  canvas.addEventListener('dblclick', e => zoom(.3, time(Math.max(GUTTER, e.offsetX))));
  input.addEventListener('input', search);
  input.addEventListener('keydown', e => {
    if (e.key === 'Enter') nextHit(e.shiftKey ? -1 : 1);
  });
  window.addEventListener('resize', () => { size(); clamp(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    colours();
    later();
  });
  colours();
  size();
  clamp();
  draw();
  return { zoom: zoom, search: search, all: () => { from = begin; to = end; clamp(); } };
}
