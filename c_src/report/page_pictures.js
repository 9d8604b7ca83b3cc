/* Pictures: histograms, arrows between kinds of processes, sequence charts, the
   flame graph. Texts are set by textContent only. */
const NS = 'http://www.w3.org/2000/svg';

function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const k in props || {}) {
    if (k === 'class') e.className = props[k];
    else if (k.startsWith('on')) e.addEventListener(k.slice(2), props[k]);
    else if (props[k] !== undefined) e.setAttribute(k, props[k]);
  }
  for (const c of children)
    if (c !== null && c !== undefined) e.append(c);
  return e;
}
function svg(tag, props, text) {
  const e = document.createElementNS(NS, tag);
  for (const k in props) e.setAttribute(k, props[k]);
  if (text !== undefined) e.textContent = text;
  return e;
}
const counts = new Intl.NumberFormat('en-US');
function num(n) { return n === undefined || n === null ? '' : counts.format(n); }
function ns(t) {
  if (t === undefined || t === null) return '';
  /* From these limits on, toPrecision(3) rounds up to 1.00e+3. */
  const a = Math.abs(t);
  if (a < 999.5) return Math.round(t) + ' ns';
  if (a < 999.5e3) return (t / 1e3).toPrecision(3) + ' \u00b5s';
  if (a < 999.5e6) return (t / 1e6).toPrecision(3) + ' ms';
  if (a < 999.5e9) return (t / 1e9).toPrecision(3) + ' s';
  return Math.round(t / 1e9) + ' s';
}
function cut(text, n) {
  const c = Array.from(text.length > 4 * n ? text.slice(0, 4 * n) : text);
  return c.length <= n ? text : c.slice(0, n - 1).join('') + '\u2026';
}
/* Functions of a module have similar colours. */
function hue(text) {
  const m = text.indexOf(':'), at = m > 0 ? m : text.length;
  let module = 0, rest = 0;
  for (let i = 0; i < at; i++) module = (module * 31 + text.charCodeAt(i)) % 331;
  for (let i = at; i < text.length; i++) rest = (rest * 31 + text.charCodeAt(i)) % 97;
  return (module + rest) % 331;
}
function tip(text) {
  const t = document.getElementById('tip');
  t.textContent = text;
  t.classList.toggle('on', text !== '');
}

/* A small picture of a histogram; times are on a logarithmic scale. */
function spark(h) {
  const bins = new Array(24).fill(0);
  const lo = Math.log2(Math.max(1, h[0][0]));
  const hi = Math.max(lo + 1, Math.log2(h[h.length - 1][1]));
  for (const [from, to, n] of h) {
    const at = (Math.log2(Math.max(1, from)) + Math.log2(to)) / 2;
    bins[Math.min(23, Math.max(0, Math.floor((at - lo) / (hi - lo) * 24)))] += n;
  }
  const most = Math.max(...bins);
  const s = svg('svg', { class: 'spark', width: 96, height: 16, 'aria-hidden': true });
  bins.forEach((n, i) => {
    if (!n) return;
    const y = Math.max(1, 16 * Math.sqrt(n / most));
    s.append(svg('rect', { x: i * 4, y: 16 - y, width: 3, height: y }));
  });
  return s;
}

/* A histogram with a row for each range of times. */
function histogram(h, name) {
  const all = h.reduce((a, r) => a + r[2], 0);
  const most = Math.max(...h.map(r => r[2]));
  const width = 560, row = 16;
  const s = svg('svg', { class: 'histogram', width: width, height: h.length * row,
    viewBox: '0 0 ' + width + ' ' + h.length * row, role: 'img',
    'aria-label': 'histogram of ' + name });
  h.forEach(([from, to, n], i) => {
    const y = i * row;
    s.append(
      svg('text', { x: 74, y: y + 12, 'text-anchor': 'end' }, ns(from)),
      svg('rect', { x: 82, y: y + 2, width: Math.max(1, 330 * n / most), height: row - 4 }),
      svg('text', { x: 88 + 330 * n / most, y: y + 12, class: 'soft' },
        num(n) + ', ' + (100 * n / all).toFixed(1) + ' %'));
  });
  return s;
}

/* Messages between kinds of processes: the widest arrows. */
function flowPicture(flow) {
  /* Kinds of several nodes are named with their node. */
  const nodes = new Set(flow.flatMap(f => [f.from_node, f.to_node]));
  const kind = (name, node) =>
    nodes.size > 1 && node ? cut(name, 22) + ' ' + node.split('@')[0] : name;
  const top = flow.slice(0, 14).map(f => ({ sender: kind(f.sender, f.from_node),
    receiver: kind(f.receiver, f.to_node), messages: f.messages }));
  const left = [...new Set(top.map(f => f.sender))];
  const right = [...new Set(top.map(f => f.receiver))];
  const rows = Math.max(left.length, right.length);
  const width = 760, row = 26, most = top[0].messages;
  const s = svg('svg', { class: 'flow', width: width, height: rows * row + 6,
    viewBox: '0 0 ' + width + ' ' + (rows * row + 6), role: 'img',
    'aria-label': 'messages between kinds of processes; the table has all numbers' });
  const y = (list, x) => (list.indexOf(x) + .5) * row * rows / list.length + 3;
  for (const f of top) {
    const a = y(left, f.sender), b = y(right, f.receiver);
    const p = svg('path', { d: `M 246 ${a} C 380 ${a} 380 ${b} 514 ${b}`,
      'stroke-width': Math.max(1, 18 * Math.sqrt(f.messages / most)) });
    p.append(svg('title', {}, `${f.sender} to ${f.receiver}: ${num(f.messages)} messages`));
    s.append(p);
  }
  for (const n of left)
    s.append(svg('text', { x: 236, y: y(left, n) + 4, 'text-anchor': 'end' }, cut(n, 32)));
  for (const n of right)
    s.append(svg('text', { x: 524, y: y(right, n) + 4 }, cut(n, 32)));
  return s;
}

/* --- sequence charts ---------------------------------------------------------- */

function sequence(c) {
  const ROW = 24, COL = 180, LEFT = 90, HEAD = 40;
  const order = [...c.processes.keys()].sort((a, b) => c.processes[a].node - c.processes[b].node);
  const x = i => LEFT + COL * order.indexOf(i) + COL / 2;
  const y = r => HEAD + r * ROW + ROW / 2;
  const width = LEFT + COL * order.length + 20, height = HEAD + ROW * c.rows.length + 10;
  const s = svg('svg', { width: width, height: height, role: 'img',
    'aria-label': 'sequence chart: ' + (c.requests[0] ? c.requests[0].summary : '') });
  const name = i => i === null ? '?' : c.processes[i].name;
  for (const i of order) {
    s.append(svg('line', { class: 'life', x1: x(i), y1: HEAD - 4, x2: x(i), y2: height }));
    s.append(svg('text', { x: x(i), y: 14, 'text-anchor': 'middle', class: 'soft' },
      cut(c.nodes[c.processes[i].node], 24)));
    const t = svg('text', { x: x(i), y: 30, 'text-anchor': 'middle' }, cut(name(i), 24));
    t.append(svg('title', {}, name(i)));
    s.append(t);
  }
  c.rows.forEach((r, i) => s.append(
    svg('text', { x: 4, y: y(i) + 4, class: 'soft' }, ns(r.at))));
  for (const h of c.hops) {
    if (h.kind === 'begin' && h.receive === null) continue;
    const g = svg('g', { class: 'hop' + (h.critical ? ' hot' : '') + (h.doubt ? ' doubt' : '') });
    const words = h.doubt + h.text;
    const to = h.to === null ? h.aim : h.to;
    let say = name(h.from) + ' to ' + (to === null ? h.name || '?' : name(to)) + ': ' + words;
    if (h.mailbox !== null) say += '; in the mailbox ' + ns(h.mailbox);
    if (h.handler !== null) say += '; in the handler ' + ns(h.handler);
    g.append(svg('title', {}, say));
    g.addEventListener('mouseenter', () => tip(say));
    g.addEventListener('mouseleave', () => tip(''));
    const send = h.send, got = h.receive;
    if (send !== null && got !== null && h.from !== null && h.to !== null) {
      const x1 = x(h.from), y1 = y(send), x2 = x(h.to), y2 = y(got);
      g.append(svg('line', { x1: x1, y1: y1, x2: x2, y2: y2 }));
      arrow(g, x1, y1, x2, y2);
      g.append(svg('text', { x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 4, 'text-anchor': 'middle' },
        cut(words, 26)));
    } else {
      const at = send !== null ? send : got, process = send !== null ? h.from : h.to;
      if (at === null || process === null) continue;
      g.append(svg('circle', { cx: x(process), cy: y(at), r: 3 }));
      g.append(svg('text', { x: x(process) + 7, y: y(at) + 4 }, cut(words, 24)));
    }
    s.append(g);
  }
  return s;
}
function arrow(g, x1, y1, x2, y2) {
  const a = Math.atan2(y2 - y1, x2 - x1);
  const p = d => (x2 - 8 * Math.cos(a + d)) + ',' + (y2 - 8 * Math.sin(a + d));
  g.append(svg('polygon', { class: 'head', points: `${x2},${y2} ${p(.4)} ${p(-.4)}` }));
}

/* --- flame graph ------------------------------------------------------------------ */

function flame(p, box, line, input, found) {
  const ROW = 18, root = { name: 'all', x: 0, w: 1, row: 0, ns: p.ns, self: 0, n: p.count };
  const frames = [root], open = [root], next = [0];
  for (let i = 0; i < p.frames.length; i += 5) {
    const row = p.frames[i + 1], parent = open[row - 1];
    if (!parent) continue;
    const f = { name: p.names[p.frames[i]], row: row, ns: p.frames[i + 2], self: p.frames[i + 3],
      n: p.frames[i + 4], parent: parent, x: next[row - 1], w: p.frames[i + 2] / (p.ns || 1) };
    next[row - 1] += f.w;
    next[row] = f.x;
    open[row] = f;
    open.length = row + 1;
    frames.push(f);
  }
  const rows = frames.reduce((a, f) => Math.max(a, f.row), 0) + 1;
  box.style.height = Math.min(rows, 80) * ROW + 'px';
  box.style.overflowY = rows > 80 ? 'auto' : 'hidden';
  let zoomed = root, current = root, hits = [];
  const say = f => `${f.name}: ${ns(f.ns)}, ${(100 * f.ns / (p.ns || 1)).toFixed(1)} %; ` +
    `itself ${ns(f.self)}; ${num(f.n)} ${p.unit}`;
  const below = (f, above) => {
    while (f && f.row > above.row) f = f.parent;
    return f === above;
  };
  function draw() {
    box.textContent = '';
    for (const f of frames) {
      const inside = below(f, zoomed), past = !inside && below(zoomed, f);
      if (!inside && !past) continue;
      const x = past ? 0 : (f.x - zoomed.x) / zoomed.w, w = past ? 1 : f.w / zoomed.w;
      if (w < .0008) continue;
      f.e = el('div', { class: 'f' + (f.name.includes(':') ? '' : ' word') + (past ? ' past' : '') +
        (hits.includes(f) ? ' hit' : ''), tabindex: f === current ? 0 : -1, role: 'button',
        'aria-label': say(f) });
      f.e.style.cssText = `left:${x * 100}%;width:${w * 100}%;top:${f.row * ROW}px;` +
        `--hue:${hue(f.name)}`;
      f.e.textContent = w > .02 ? f.name : '';
      f.e.frame = f;
      box.append(f.e);
    }
  }
  function focus(f) {
    if (!f) return;
    current = f;
    if (!f.e || !f.e.isConnected) zoomed = below(f, zoomed) ? zoomed : root;
    draw();
    if (!f.e || !f.e.isConnected) { zoomed = f; draw(); }
    f.e.focus();
    line.textContent = say(f);
  }
  function zoom(f) { zoomed = f; focus(f); }
  const kids = f => frames.filter(k => k.parent === f);
  box.addEventListener('click', e => { if (e.target.frame) zoom(e.target.frame); });
  box.addEventListener('mouseover', e => {
    line.textContent = say(e.target.frame || current);
  });
  box.addEventListener('keydown', e => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const sib = current.parent ? kids(current.parent) : [root], at = sib.indexOf(current);
    if (e.key === 'ArrowDown')
      focus(kids(current).reduce((a, b) => a && a.w >= b.w ? a : b, null));
    else if (e.key === 'ArrowUp') focus(current.parent);
    else if (e.key === 'ArrowLeft') focus(sib[at - 1]);
    else if (e.key === 'ArrowRight') focus(sib[at + 1]);
    else if (e.key === 'Enter' || e.key === ' ') zoom(current);
    else if (e.key === 'Escape') zoom(root);
    else return;
    e.preventDefault();
  });
  input.addEventListener('input', () => {
    const q = input.value.toLowerCase();
    hits = q ? frames.filter(f => f.row && f.name.toLowerCase().includes(q)) : [];
    const outer = hits.filter(f => {
      for (let a = f.parent; a; a = a.parent) if (hits.includes(a)) return false;
      return true;
    });
    found.textContent = q ? hits.length + ' frames, ' +
      (100 * outer.reduce((a, f) => a + f.w, 0)).toFixed(1) + ' % of the time' : '';
    draw();
  });
  input.addEventListener('keydown', e => {
    if (e.key === 'Enter' && hits.length) focus(hits[(hits.indexOf(current) + 1) % hits.length]);
  });
  draw();
}
