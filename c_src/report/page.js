/* The page: sections with tables. The data are JSON in the page; every text of
   them is set by textContent. */
window.addEventListener('error', e => {
  document.documentElement.dataset.error = e.message;
});
const byId = id => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const main = byId('main'), nav = byId('nav');

/* --- cells and tables ------------------------------------------------------------- */

const whole = r => r.name || r.pid || '?';
/* Kinds of columns: how a value is shown, and its class. */
const kinds = {
  num: v => [num(v), 'num' + (v ? '' : ' zero')],
  bad: v => [num(v), 'num' + (v ? ' failed' : ' zero')],
  ns: v => [ns(v), 'num'],
  time: v => [v ? ns(v) : '', 'num'],
  at: v => [(v / 1e9).toFixed(6), 'num'],
  text: v => [v === null || v === undefined ? '' : v, 'name'],
  term: v => [v === null || v === undefined ? '' : v, 'term'],
  node: v => [v || '', 'node'],
};
function longText(text) {
  if (text.length <= 160) return text;
  return el('details', {}, el('summary', {}, cut(text, 120)), text);
}
function cell(col, row, brief) {
  const v = col.of ? col.of(row) : row[col.key];
  if (v instanceof Node) return el('td', { class: col.kind === 'num' ? 'num' : '' }, v);
  const [text, cls] = kinds[col.kind](v);
  const td = el('td', { class: cls });
  if (brief) {
    td.textContent = cut(text, 200);
    if (cls === 'term' || cls === 'name') td.title = cut(text, 400);
  } else {
    td.append(longText(text));
  }
  if (row.failed === true && col.key === 'result') td.classList.add('failed');
  return td;
}
function value(col, row) {
  const v = col.of && !(col.of(row) instanceof Node) ? col.of(row) : row[col.key];
  return v === undefined || v === null ? -Infinity : v;
}
/* A table whose columns sort. `shown' rows are there at first. */
function table(caption, cols, rows, shown) {
  const body = el('tbody'), head = el('tr');
  let limit = shown || 15, list = rows.slice();
  const more = el('button', { class: 'more', type: 'button',
    onclick: () => { limit = limit < list.length ? list.length : shown || 15; fill(); } });
  function fill() {
    body.textContent = '';
    for (const r of list.slice(0, limit)) {
      const tr = el('tr');
      for (const c of cols) tr.append(cell(c, r, false));
      body.append(tr);
    }
    more.hidden = list.length <= (shown || 15);
    more.textContent = limit < list.length ? 'show all ' + num(list.length) : 'show fewer';
  }
  for (const c of cols) {
    const th = el('th', { scope: 'col', class: numeric(c) ? 'num' : '' });
    const sort = () => {
      const down = th.getAttribute('aria-sort') !== 'descending';
      for (const other of head.children) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      list.sort((a, b) => {
        const x = value(c, a), y = value(c, b);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      fill();
    };
    if (c.key) th.append(el('button', { type: 'button', onclick: sort }, c.name));
    else th.textContent = c.name;
    head.append(th);
  }
  fill();
  return el('div', {}, el('div', { class: 'scroll' },
    el('table', {}, el('caption', {}, caption), el('thead', {}, head), body)), more);
}
const numeric = c => ['num', 'bad', 'ns', 'time', 'at'].includes(c.kind);

/* --- sections and panels ---------------------------------------------------------- */

function section(id, title, lead, ...parts) {
  const s = el('section', { id: id, 'aria-labelledby': id + '-h' },
    el('h2', { id: id + '-h' }, title));
  if (lead) s.append(el('p', { class: 'lead' }, lead));
  for (const p of parts) if (p) s.append(p);
  main.append(s);
  nav.append(el('a', { href: '#' + id }, title));
  return s;
}
const grid = el('div', { class: 'grid' });
/* A panel of the first screen: the first rows of a table. */
function panel(title, id, cols, rows, none, wide) {
  const p = el('div', { class: wide ? 'panel wide' : 'panel' });
  p.append(el('h3', {}, title, rows.length ? el('a', { href: '#' + id,
    'aria-label': 'all: ' + title }, 'all') : null));
  if (!rows.length) {
    p.append(el('p', { class: 'lead' }, none));
  } else {
    const head = el('tr'), body = el('tbody');
    for (const c of cols)
      head.append(el('th', { scope: 'col', class: numeric(c) ? 'num' : '' }, c.name));
    for (const r of rows.slice(0, 5)) {
      const tr = el('tr');
      for (const c of cols) tr.append(cell(c, r, true));
      body.append(tr);
    }
    p.append(el('table', { 'aria-label': title }, el('thead', {}, head), body));
  }
  grid.append(p);
}
function card(value, label, bad) {
  return el('div', { class: 'card' + (bad ? ' bad' : '') }, el('b', {}, value),
    el('span', {}, label));
}

/* --- the head and the first screen ------------------------------------------------ */

const names = data.nodes.filter(n => n.events || n.lost).map(n => n.node);
byId('title').textContent = 'inviso report: ' + (names.length ?
  names.slice(0, 4).join(', ') + (names.length > 4 ? ' and ' + (names.length - 4) + ' more' : '') :
  'nothing');
document.title = byId('title').textContent;
byId('when').textContent = data.events ? ns(data.duration_ns) + ' from ' +
  new Date(data.begin_ns / 1e6).toLocaleString() + ' (' +
  new Date(data.begin_ns / 1e6).toISOString() + ')' : '';

const c = data.calls, overview = byId('overview');
nav.append(el('a', { href: '#overview' }, 'Overview'));
overview.append(el('div', { class: 'cards' },
  card(num(data.events), 'events'), card(num(data.lost), 'lost', data.lost),
  card(num(data.nodes.length), data.nodes.length === 1 ? 'node' : 'nodes'),
  card(num(c.calls), 'calls'), card(num(c.failed), 'failed calls', c.failed),
  card(num(data.messages.messages), 'messages'),
  card(num(data.processes.processes), 'processes'),
  data.processes.abnormal ? card(num(data.processes.abnormal), 'abnormal exits', true) : null,
  data.requests.requests ? card(num(data.requests.requests), 'requests') : null));
/* Events after the limit of a recording are not lost. */
const lost = data.losses.filter(l => l.reason !== 'limit');
function warn(text) { overview.append(el('p', { class: 'warn' }, text)); }
if (data.lost) {
  const by = {};
  for (const l of lost) by[l.reason] = (by[l.reason] || 0) + l.lost;
  warn('Events were lost: ' + Object.entries(by).map(([r, n]) => num(n) + ' ' + r).join(', ') +
    '. Times of calls during a loss are not certain (' + num(c.uncertain) + ' calls).');
}
if (data.after_limit)
  overview.append(el('p', { class: 'lead' }, num(data.after_limit) +
    ' further events came after the limit of the recording.'));
if (data.unended)
  warn(num(data.unended) + ' log(s) have no end: later events may be missing.');
if (data.filtered)
  warn('Options select ' + num(data.events) + ' of ' + num(data.recorded) + ' events.');
if (data.incomplete)
  warn(num(data.incomplete) + ' rows are incomplete, because too many calls, messages or ' +
    'processes were open at a time.');
overview.append(grid);

const mfa = { key: 'mfa', name: 'function', kind: 'text' };
const fnCalls = { key: 'calls', name: 'calls', kind: 'num' };
const failedFns = data.functions.filter(f => f.failed).sort((a, b) => b.failed - a.failed);
panel('Functions by time', 'functions',
  [mfa, fnCalls, { key: 'p50_ns', name: 'p50', kind: 'ns' },
    { key: 'p99_ns', name: 'p99', kind: 'ns' }, { key: 'max_ns', name: 'max', kind: 'ns' },
    { name: 'histogram', of: f => f.histogram ? spark(f.histogram) : '', kind: 'text' }],
  data.functions, 'No calls were recorded.', true);
panel('Slowest calls', 'slowest',
  [{ key: 'duration_ns', name: 'took', kind: 'ns' },
    { name: 'call', kind: 'term', of: r => r.mfa + ' ' + (r.args || '') }],
  data.slowest, 'No ends of calls were recorded.');
panel('Failures', 'failures',
  [{ key: 'failed', name: 'failed', kind: 'bad' }, fnCalls,
    { name: 'function, for example', kind: 'term', of: f => f.mfa + ' ' + (f.example || '') }],
  failedFns, c.calls ? 'No call failed.' : 'No calls were recorded.');
panel('Busiest kinds of processes', 'processes',
  [{ key: 'kind', name: 'kind', kind: 'text' }, { key: 'processes', name: 'n', kind: 'num' },
    { key: 'events', name: 'events', kind: 'num' },
    { key: 'self_ns', name: 'in calls', kind: 'time' }],
  data.kinds, 'No processes were seen.');
panel('Busiest mailboxes', 'mailboxes',
  [{ key: 'process', name: 'mailbox', kind: 'text' },
    { key: 'messages', name: 'messages', kind: 'num' },
    { key: 'mean_wait_ns', name: 'mean wait', kind: 'ns' }],
  data.mailboxes, 'No messages were recorded.');
panel('Messages between kinds', 'messages',
  [{ name: 'from, to', kind: 'text', of: f => f.sender + ' \u2192 ' + f.receiver },
    { key: 'messages', name: 'messages', kind: 'num' }],
  data.flow, 'No messages were recorded.');
panel('Events by tag', 'recorded',
  [{ key: 'tag', name: 'tag', kind: 'text' }, { key: 'node', name: 'node', kind: 'node' },
    { key: 'events', name: 'events', kind: 'num' }],
  data.tags, 'No events were recorded.');
if (data.requests.requests)
  panel('Slowest requests', 'requests',
    [{ key: 'duration_ns', name: 'took', kind: 'ns' },
      { key: 'request', name: 'request', kind: 'num' },
      { key: 'label', name: 'label', kind: 'term' }],
    data.slowest_requests, '');
if (data.processes.abnormal)
  panel('Abnormal exits', 'exits',
    [{ key: 'exits', name: 'exits', kind: 'bad' }, { key: 'reason', name: 'reason', kind: 'term' }],
    data.exits, '');

/* --- sections --------------------------------------------------------------------- */

const node = { key: 'node', name: 'node', kind: 'node' };
const process = { key: 'name', name: 'process', kind: 'text', of: whole };
const at = { key: 'at_ns', name: 'at s', kind: 'at' };
section('recorded', 'Recorded and lost', null,
  table('Nodes', [node, { key: 'events', name: 'events', kind: 'num' },
    { key: 'lost', name: 'lost', kind: 'bad' }, { key: 'otp', name: 'OTP', kind: 'num' },
    { key: 'first_ns', name: 'from s', kind: 'at' }, { key: 'last_ns', name: 'to s', kind: 'at' }],
  data.nodes),
  lost.length ? table('Lost events, by reason',
    [{ key: 'reason', name: 'reason', kind: 'text' }, node,
      { key: 'lost', name: 'events', kind: 'bad' }, { key: 'places', name: 'places', kind: 'num' }],
    lost) : null,
  table('Events, by tag',
    [{ key: 'tag', name: 'tag', kind: 'text' }, node,
      { key: 'events', name: 'events', kind: 'num' }], data.tags));

if (data.functions.length) {
  const drawn = el('figure', { 'aria-live': 'polite' });
  const pick = f => {
    drawn.textContent = '';
    drawn.append(el('figcaption', {}, 'Times of ' + f.mfa), histogram(f.histogram, f.mfa));
  };
  drawn.style.margin = '10px 0';
  const nsCol = (key, name) => ({ key: key, name: name, kind: 'ns' });
  section('functions', 'Functions',
    num(c.functions) + ' functions, ' + num(c.calls) + ' calls, of which ' + num(c.ended) +
    ' ended. Quantiles have an error of at most 1.6 %. "Itself" is without traced calls inside.',
    table('Functions by the time that they took themselves',
      [mfa, fnCalls, { key: 'ended', name: 'ended', kind: 'num' },
        { key: 'failed', name: 'failed', kind: 'bad' }, nsCol('self_ns', 'itself'),
        nsCol('total_ns', 'total'), nsCol('p50_ns', 'p50'), nsCol('p90_ns', 'p90'),
        nsCol('p99_ns', 'p99'), nsCol('p999_ns', 'p999'), nsCol('max_ns', 'max'),
        { name: 'histogram', kind: 'text', of: f => f.histogram ? el('button',
          { class: 'pick', type: 'button', 'aria-label': 'histogram of ' + f.mfa,
            onclick: () => pick(f) }, spark(f.histogram)) : '' }], data.functions), drawn);
  if (data.functions[0].histogram) pick(data.functions[0]);
}
const callCols = [at, { key: 'duration_ns', name: 'took', kind: 'ns' },
  { key: 'self_ns', name: 'itself', kind: 'ns' }, mfa, process, node,
  { key: 'args', name: 'arguments', kind: 'term' }, { key: 'result', name: 'result', kind: 'term' }];
if (data.slowest.length)
  section('slowest', 'Slowest calls', null,
    table('The ' + num(data.slowest.length) + ' slowest of ' + num(c.ended) + ' calls', callCols,
      data.slowest, 10));
if (c.failed)
  section('failures', 'Failures', num(c.failed) + ' of ' + num(c.calls) +
    ' calls ended with an exception, returned an error, or their process exited.',
  table('Functions with failures',
    [mfa, { key: 'failed', name: 'failed', kind: 'bad' }, fnCalls,
      { key: 'example', name: 'for example', kind: 'term' }], failedFns),
  table(data.failures.length < c.failed ? 'The first ' + num(data.failures.length) +
    ' failed calls' : 'Failed calls', callCols, data.failures, 10));
if (data.processes.abnormal)
  section('exits', 'Abnormal exits', num(data.processes.abnormal) + ' of ' +
    num(data.processes.exited) + ' exits had another reason than normal and shutdown.',
  table('Reasons', [{ key: 'exits', name: 'exits', kind: 'bad' },
    { key: 'reason', name: 'reason', kind: 'term' },
    { key: 'name', name: 'first process', kind: 'text', of: whole }, node], data.exits));
const procCols = [{ key: 'events', name: 'events', kind: 'num' },
  { key: 'calls', name: 'calls', kind: 'num' }, { key: 'sent', name: 'sent', kind: 'num' },
  { key: 'received', name: 'received', kind: 'num' },
  { key: 'self_ns', name: 'in calls', kind: 'time' },
  { key: 'running_ns', name: 'running', kind: 'time' }, { key: 'gc_ns', name: 'gc', kind: 'time' }];
if (data.kinds.length)
  section('processes', 'Processes', num(data.processes.processes) + ' processes and ports, ' +
    num(data.processes.spawned) + ' of them spawned and ' + num(data.processes.exited) +
    ' exited meanwhile. A kind is all processes of a node with the same name.',
  table('Kinds of processes', [{ key: 'kind', name: 'kind', kind: 'text' }, node,
    { key: 'processes', name: 'processes', kind: 'num' }, ...procCols], data.kinds),
  table('The busiest processes', [process, { key: 'pid', name: 'pid', kind: 'node' }, node,
    ...procCols], data.busiest));
const messageCols = [{ key: 'messages', name: 'messages', kind: 'num' },
  { key: 'received', name: 'received', kind: 'num' },
  { key: 'of_requests', name: 'of requests', kind: 'num' },
  { key: 'mean_wait_ns', name: 'mean wait', kind: 'ns' },
  { key: 'max_wait_ns', name: 'longest', kind: 'ns' }];
if (data.mailboxes.length)
  section('mailboxes', 'Mailboxes', num(data.messages.messages) + ' messages, of which ' +
    num(data.messages.waited) + ' have both a send and a receive event, and so a time of waiting.',
  table('Processes by how many messages were sent to them',
    [{ key: 'process', name: 'mailbox', kind: 'text' }, node, ...messageCols], data.mailboxes));
if (data.flow.length)
  section('messages', 'Message flow', 'Which kinds of processes sent each other messages.',
    flowPicture(data.flow),
    table('Messages between kinds of processes',
      [{ key: 'sender', name: 'from', kind: 'text' },
        { key: 'from_node', name: 'node', kind: 'node' },
        { key: 'receiver', name: 'to', kind: 'text' },
        { key: 'to_node', name: 'node', kind: 'node' }, ...messageCols], data.flow));
if (data.requests.requests) {
  const chart = el('div', { class: 'chart', tabindex: 0, 'aria-label': 'sequence chart' });
  const choice = el('select', { id: 'request', 'aria-label': 'request' });
  const note = el('span', { class: 'found' });
  const show = i => {
    const x = data.charts[i];
    chart.textContent = '';
    chart.append(sequence(x));
    note.textContent = (x.requests[0] ? x.requests[0].summary : '') +
      (x.left_out ? '; ' + num(x.left_out) + ' events are left out' : '');
  };
  data.charts.forEach((x, i) => choice.append(el('option', { value: i },
    x.requests.length ? 'request ' + x.requests[0].number + ', label ' +
      cut(x.requests[0].label, 60) : 'request')));
  choice.addEventListener('change', () => show(+choice.value));
  const r = data.requests;
  section('requests', 'Requests', num(r.requests) + ' requests of sequential traces; p50 ' +
    ns(r.p50_ns) + ', p90 ' + ns(r.p90_ns) + ', p99 ' + ns(r.p99_ns) + ', longest ' +
    ns(r.max_ns) + '.',
  histogram(r.histogram, 'requests'),
  table('The slowest requests', [{ key: 'request', name: 'request', kind: 'num' },
    { key: 'label', name: 'label', kind: 'term' }, at,
    { key: 'duration_ns', name: 'took', kind: 'ns' },
    { key: 'events', name: 'events', kind: 'num' },
    { key: 'messages', name: 'messages', kind: 'num' },
    { key: 'orphans', name: 'orphans', kind: 'num' }, process, node], data.slowest_requests, 10),
  data.charts.length ? el('h3', {}, 'Sequence charts of the slowest requests') : null,
  data.charts.length ? el('div', { class: 'tools' }, choice, note) : null,
  data.charts.length ? el('p', { class: 'lead' }, 'Down: the order of events. Red: the critical ' +
    'path. Dashed: not certain.') : null,
  data.charts.length ? chart : null);
  if (data.charts.length) show(0);
}
if (data.profile.frames.length) {
  const input = el('input', { type: 'search', placeholder: 'search functions',
    'aria-label': 'search functions' });
  const found = el('span', { class: 'found', 'aria-live': 'polite' });
  const line = el('div', { class: 'line' }), box = el('div', { id: 'flame-box' });
  section('flame', 'Flame graph', 'Where the time went: ' + ns(data.profile.ns) + ' in ' +
    num(data.profile.count) + ' ' + data.profile.unit + '. Click or Enter zooms, arrows move, Esc ' +
    'shows all.' + (data.profile.narrow ? ' ' + num(data.profile.narrow) +
      ' frames with less than 0.02 % of the time are not shown.' : '') + (data.profile.unsure ?
      ' ' + num(data.profile.unsure) + ' calls are left out, because events were lost during them.'
      : ''),
  el('div', { class: 'tools' }, input, found), line, box);
  flame(data.profile, box, line, input, found);
}
let shown = null;
if (data.events) {
  const t = data.timeline;
  const input = el('input', { type: 'search', placeholder: 'function or process', id: 'q',
    'aria-label': 'search the timeline' });
  const found = el('span', { class: 'found', id: 'found', 'aria-live': 'polite' });
  const line = el('div', { class: 'line', 'aria-live': 'polite' });
  const canvas = el('canvas', { id: 'canvas', tabindex: 0, role: 'img', 'aria-label':
    'timeline of ' + t.lanes.length + ' processes; keys: arrows, plus, minus, 0, n, slash' });
  const button = (text, what, act) => el('button', { type: 'button', 'aria-label': what,
    onclick: act }, text);
  section('timeline', 'Timeline', 'The upper strip is the number of events: red are failed ' +
    'calls, orange are losses. The rows are the ' + num(t.lanes.length) + ' busiest of ' +
    num(data.processes.processes) + ' processes: their events, and as bars ' + num(t.shown) +
    ' calls and garbage collections, the longest of ' + num(t.seen) +
    '. Click the picture, then: wheel or + and - zoom, drag or arrows move, n goes to the next bar.',
  el('div', { class: 'tools' }, input,
    button('+', 'zoom in', () => shown.zoom(.5)), button('\u2212', 'zoom out', () => shown.zoom(2)),
    button('all', 'show all', () => shown.all()), found), line, canvas);
  shown = timeline(t, data.duration_ns, canvas, line, input, found);
}
if (data.collections.collections)
  section('collections', 'Garbage collections', num(data.collections.collections) +
    ' collections, ' + num(data.collections.major) + ' of them major, took ' +
    ns(data.collections.ns) + '.',
  table('The longest', [at, { key: 'duration_ns', name: 'took', kind: 'ns' },
    { key: 'major', name: 'kind', kind: 'text', of: g => g.major ? 'major' : 'minor' },
    { key: 'before_bytes', name: 'bytes before', kind: 'num' },
    { key: 'after_bytes', name: 'after', kind: 'num' }, process, node], data.longest_collections, 10));
if (data.counts.length)
  section('counts', 'Counts', 'What sessions of inviso count and inviso hist have counted; ' +
    num(data.counts.length) + ' of ' + num(data.counted) + '.',
  table('Counts', [{ key: 'key', name: 'key', kind: 'term' },
    { key: 'counted', name: 'of', kind: 'text' }, node, { key: 'n', name: 'count', kind: 'num' },
    { key: 'p50_ns', name: 'p50', kind: 'ns' }, { key: 'p99_ns', name: 'p99', kind: 'ns' },
    { key: 'max_ns', name: 'max', kind: 'ns' }], data.counts));
section('about', 'About these numbers', 'Counts, sums and quantiles are of all events. Tables ' +
  'show at most 200 rows, and single calls, processes, requests and collections are the slowest or ' +
  'busiest 200; failed calls are the first 200. Texts are cut at 400 bytes. More than 4096 ' +
  'functions or 65536 kinds of processes or mailboxes are added up as (others). All events: inviso ' +
  'merge; any other question: inviso sql.');

function fromHash() {
  const h = decodeURIComponent(location.hash.slice(1));
  if (!h.startsWith('q=') || !shown) return;
  byId('q').value = h.slice(2);
  shown.search();
}
window.addEventListener('hashchange', fromHash);
fromHash();
document.documentElement.dataset.ready = 'yes';
