// lab.js: the lab: asks the server that sent the page, and shows what comes. Whatever a model wrote is put in as text.
'use strict';

const $ = id => document.getElementById(id);
const MARKS = ['●', '■', '▲', '◆', '✚', '▼', '✖', '○'];
// Whose look each is, wherever a scheme is drawn (src/draw/palette.cpp): the colour of its place by eights, and its own mark.
const OWN = ['rope', 'alibi', 't5_bias', 'sinusoidal', 'learned', 'shaw', 'fire', 'none'].concat(
  ['xpos', 'kerple', 'relative_bias', 'normalized', 'hierarchical', 'xl', 'cope', ''], ['', 'sandwich', '', 'index']);
const SVG = 'http://www.w3.org/2000/svg';
const SAMPLE = $('text').defaultValue.replace(/\s*\n\s*/g, ' ');
// The states that lessons prepare; their words stand in the page. A length of 0 is the trained one, Infinity all there is.
const LESSONS = {
  early: {on: ['native', 'native;layers=0,1:none'], off: [2, 3], length: 0},
  table: {on: ['native', 'alibi', 'sinusoidal'], off: [], length: Infinity},
  scaling: {on: ['native', ...['linear', 'dynamic', 'yarn'].map(kind => `rope:scaling=${kind},factor=2`)], off: [], length: Infinity},
};

const state = {view: 'look', model: '', on: ['native'], off: [], extra: [], reference: 'native', length: 0, text: SAMPLE, lesson: '', at: -1};
let models = [], positions = [], key = '', scores = null, tokenCount = 0, asked = 0, writing = null;

function make(tag, props = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props))
    if (name.startsWith('aria-') || name === 'role' || name === 'for') element.setAttribute(name, value);
    else element[name] = value;
  element.append(...inside);
  return element;
}

async function ask(path, body, signal) {
  const headers = key ? {Authorization: 'Bearer ' + key} : {};
  const options = body ? {method: 'POST', headers: {...headers, 'Content-Type': 'application/json'}, body: JSON.stringify(body), signal} : {headers};
  const answer = await fetch(path, options);
  if (answer.ok) return answer;
  if (answer.status === 401) $('key-form').hidden = false;
  let message = answer.statusText;
  try { message = (await answer.json()).error.message; } catch (error) { /* no JSON: the status says it */ }
  throw new Error(message);
}

function fault(error) {
  $('fault').hidden = !error;
  $('fault').textContent = error ? error.message : '';
}

const model = () => models.find(item => item.id === state.model) || models[0];
// Looks as a report on what is shown gives them: a scheme's own where its colour is free, plain ones first; then the next.
// One that is not shown has the look that it would have beside the others.
function look(wanted) {
  const specs = new Set([...shown(), wanted]), looks = new Map();
  const taken = colour => [...looks.values()].some(place => place % 8 === colour);
  for (const plain of [true, false])
    for (const spec of specs) {
      const own = OWN.includes(nameOf(spec)) ? OWN.indexOf(nameOf(spec)) : 7, isPlain = nameOf(spec) === spec.replace(/^native/, model().position);
      if (plain === isPlain && !looks.has(spec) && !taken(own % 8)) looks.set(spec, own);
    }
  for (const spec of specs) {
    let place = 0;
    while ([...looks.values()].includes(place) || (place < 8 && taken(place))) ++place;
    if (!looks.has(spec)) looks.set(spec, place);
  }
  return looks.get(wanted);
}
const colour = spec => `var(--s${look(spec) % 8})`;
const mark = spec => MARKS[(look(spec) + Math.floor(look(spec) / 8)) % 8];
function signOf(spec) {
  const sign = make('span', {textContent: mark(spec) + ' ', 'aria-hidden': 'true'});
  sign.style.color = colour(spec);
  return sign;
}
const nameOf = spec => spec.replace(/^native/, model().position).split(/[:;]/)[0];
const kindOf = spec => positions.find(item => item.id === nameOf(spec))?.kind;
const trained = spec => spec === 'native' || spec === model().position || model().trained_positions.includes(spec);
function allSpecs() {
  const base = ['native', ...model().trained_positions.filter(name => name !== model().position)];
  if (!base.includes('none') && model().position !== 'none') base.push('none');
  return [...base, ...state.extra.filter(spec => !base.includes(spec))];
}

// The reference once more, without positions in the layers that are switched off.
function without() {
  const off = state.off.filter(layer => layer < model().layers);
  return off.length ? `${state.reference};layers=${off.join(',')}:none` : '';
}
const shown = () => [...new Set([...state.on, without()])].filter(Boolean);

// Every state is an address, and another machine shows the same.
function remember() {
  const kept = {v: state.view, m: state.model, on: state.on, off: state.off, x: state.extra, r: state.reference, n: state.length, l: state.lesson};
  if (state.text !== SAMPLE) kept.t = state.text;
  history.replaceState(null, '', '#' + encodeURIComponent(JSON.stringify(kept)));
}
function recall() {
  if (location.hash.length < 2) return;
  try {
    const kept = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    const strings = list => Array.isArray(list) ? list.filter(item => typeof item === 'string').slice(0, 32) : [];
    Object.assign(state, {view: String(kept.v), model: String(kept.m), on: strings(kept.on), extra: strings(kept.x),
      off: (Array.isArray(kept.off) ? kept.off : []).filter(layer => Number.isInteger(layer) && layer >= 0), reference: String(kept.r), length: Number(kept.n) || 0});
    if (typeof kept.t === 'string') state.text = kept.t;
    if (Object.hasOwn(LESSONS, kept.l)) state.lesson = kept.l;
    if (!['look', 'write', 'scheme'].includes(state.view)) state.view = 'look';
  } catch (error) { /* an address that is none of ours */ }
}

function showControls() {
  const specs = allSpecs(), focused = document.activeElement.id;
  $('schemes').replaceChildren(...specs.map((spec, i) => {
    const box = make('input', {type: 'checkbox', id: 'scheme-' + i, checked: state.on.includes(spec)});
    box.addEventListener('change', () => {
      state.on = specs.filter(item => item === spec ? box.checked : state.on.includes(item));
      if (!state.on.length) state.on = ['native'];
      if (!state.on.includes(state.reference)) state.reference = state.on[0];
      refresh();
    });
    const name = spec === 'native' ? `native (${model().position})` : spec;
    return make('div', {className: 'scheme'}, box, signOf(spec),
      make('label', {for: 'scheme-' + i}, name + (trained(spec) ? '' : ' – not trained for it')));
  }));
  for (const row of $('schemes').querySelectorAll('label')) row.style.margin = '0';
  $('layers').replaceChildren(...Array.from({length: model().layers}, (none, layer) => {
    const on = !state.off.includes(layer);
    const button = make('button', {type: 'button', id: 'layer-' + layer, textContent: layer, 'aria-label': `layer ${layer}`, 'aria-pressed': on});
    button.addEventListener('click', () => {
      state.off = on ? [...state.off, layer].sort((a, b) => a - b) : state.off.filter(item => item !== layer);
      refresh();
    });
    return button;
  }));
  const absolute = kindOf(state.reference) === 'absolute';
  $('layers-told').textContent = absolute ? `${state.reference} acts on the embedding, which belongs to no layer: switching one off changes nothing.`
    : without() ? `${without()} stands beside ${state.reference}.` : 'Switch a layer off to see the reference without positions there.';
  $('reference').replaceChildren(...state.on.map(spec => make('option', {value: spec, textContent: spec, selected: spec === state.reference})));
  for (const words of $('lessons').querySelectorAll('p')) words.hidden = words.previousElementSibling.dataset.lesson !== state.lesson;
  $('trained').textContent = `Trained on ${model().trained_length} tokens; this server takes up to ${model().most_context}.`;
  $('length').max = Math.max(8, Math.min(tokenCount, model().most_context));
  $('length').value = state.length;
  $('length-told').textContent = `${state.length}${state.length > model().trained_length ? ', past the trained length' : ''}`;
  for (const view of ['look', 'write', 'scheme']) {
    $('view-' + view).hidden = view !== state.view;
    $('tab-' + view).setAttribute('aria-selected', view === state.view);
    $('tab-' + view).tabIndex = view === state.view ? 0 : -1;
  }
  const quoted = text => "'" + text.replaceAll("'", "'\\''") + "'";
  $('command').textContent = state.view === 'write'
    ? shown().map(spec => `ordinal generate ${quoted($('prompt').value)} -n ${$('count').value} --temp ${$('temperature').value} --top-p ${$('top-p').value} --seed ${$('seed').value} --position ${quoted(spec)}`).join('\n')
    : `ordinal compare -f text.txt --lengths ${state.length} --positions ${quoted(shown().join(','))} --reference ${quoted(state.reference)}`;
  remember();
  if (focused && document.activeElement.id !== focused) $(focused)?.focus();  // what had it was made anew
}

let timer = 0;
function refresh() {
  showControls();
  clearTimeout(timer);
  if (state.view === 'look') timer = setTimeout(score, 120);
  if (state.view === 'scheme') showScheme();
}

async function score() {
  const turn = ++asked;
  try {
    $('status').textContent = 'scoring …';
    const begin = performance.now();
    const {ids} = await (await ask('/tokenize', {model: model().id, text: state.text})).json();
    if (turn !== asked) return;
    tokenCount = ids.length;
    const most = Math.min(tokenCount, model().most_context);
    if (!state.length || state.length > most) state.length = Math.min(most, Math.max(8, state.length || model().trained_length));
    if (state.length < 2) throw new Error('The text is too short to be scored: two tokens are the least.');
    const answer = await (await ask('/v1/score', {model: model().id, text: ids.slice(0, state.length), positions: shown(), top: 5,
      ctx: Math.max(state.length, 1)})).json();
    if (turn !== asked) return;
    scores = answer;
    fault(null);
    const many = state.length * scores.scores.length;
    $('status').textContent = `${many} tokens scored in ${Math.round(performance.now() - begin)} ms`;
    showControls();
    showLook();
  } catch (error) {
    if (turn !== asked) return;
    $('status').textContent = '';
    fault(error);
  }
}

const scored = () => scores.scores.map(row => row.position);
const rowOf = spec => scores.scores.find(row => row.position === spec);

// A mean of paired differences, and twice its standard error.
function difference(spec) {
  const own = rowOf(spec).token_nats.slice(1), other = rowOf(state.reference).token_nats.slice(1);
  const each = own.map((nats, i) => nats - other[i]), mean = each.reduce((a, b) => a + b, 0) / each.length;
  const spread = each.reduce((sum, d) => sum + (d - mean) ** 2, 0) / Math.max(1, each.length - 1);
  return {mean, error: 2 * Math.sqrt(spread / each.length)};
}

function showLook() {
  if (!rowOf(state.reference)) return;
  const head = make('tr', {}, ...['scheme', 'nats a token', 'perplexity', `against ${state.reference}`, 'standing']
    .map(word => make('th', {scope: 'col', textContent: word})));
  $('losses').replaceChildren(head, ...scored().map(spec => {
    const row = rowOf(spec), apart = difference(spec);
    const told = spec === state.reference ? 'reference' : `${apart.mean >= 0 ? '+' : '−'}${Math.abs(apart.mean).toFixed(4)} ± ${apart.error.toFixed(4)}`;
    return make('tr', {}, make('th', {scope: 'row'}, signOf(spec), spec),
      ...[row.nats_per_token.toFixed(4), Math.exp(row.nats_per_token).toFixed(2), told].map(text => make('td', {className: 'number', textContent: text})),
      make('td', {textContent: trained(spec) ? 'trained under it' : 'not trained for it'}));
  }));
  $('shown').textContent = state.reference;
  const nats = rowOf(state.reference).token_nats;
  $('tokens').replaceChildren(...scores.texts[0].pieces.map((piece, i) => {
    const token = make('span', {textContent: piece, role: 'option', id: 'token-' + i, 'aria-selected': i === state.at});
    if (nats[i] !== null) token.style.backgroundColor = `rgba(var(--mark), ${Math.min(0.4, nats[i] / 25).toFixed(3)})`;
    token.addEventListener('mouseenter', () => choose(i));
    return token;
  }));
  choose(Math.min(state.at < 1 ? 1 : state.at, scores.texts[0].pieces.length - 1));
  drawChart('chart', scores.scores, state.reference);
}

function choose(at) {
  $('token-' + state.at)?.setAttribute('aria-selected', false);
  state.at = at;
  const chosen = $('token-' + at);
  if (!chosen) return;
  chosen.setAttribute('aria-selected', true);
  $('tokens').setAttribute('aria-activedescendant', chosen.id);
  $('token').replaceChildren(...scored().map(spec => {
    const row = rowOf(spec), nats = row.token_nats[at];
    const list = make('ol', {}, ...(row.top[at] || []).map(item => make('li', {textContent: `${JSON.stringify(item.token)} ${(100 * Math.exp(item.logprob)).toFixed(1)} %`})));
    return make('div', {}, make('strong', {}, signOf(spec), spec), make('div', {textContent: nats === null ? 'the first token' : `${JSON.stringify(scores.texts[0].pieces[at])}: ${nats.toFixed(3)} nats`}), list);
  }));
}

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Differences to the reference, means over sixteen stretches of the text.
function differences(rows, reference) {
  const other = rows.find(row => row.position === reference).token_nats, n = other.length, steps = Math.min(16, n - 1);
  return rows.filter(row => row.position !== reference).map(({position, token_nats: own}) => {
    const points = [];
    for (let step = 0; step < steps; ++step) {
      const from = 1 + Math.floor(step * (n - 1) / steps), to = 1 + Math.floor((step + 1) * (n - 1) / steps);
      let sum = 0;
      for (let i = from; i < to; ++i) sum += own[i] - other[i];
      points.push([(from + to) / 2, sum / Math.max(1, to - from)]);
    }
    return {spec: position, points};
  });
}

const drawn = {};  // by figure
function drawChart(figure, rows, reference) {
  const width = 800, height = 260, left = 56, bottom = 34, n = rows[0].token_nats.length, curves = differences(rows, reference);
  drawn[figure] = curves;
  const values = curves.flatMap(curve => curve.points.map(point => point[1])).concat(0);
  const low = Math.min(...values), high = Math.max(...values, low + 0.01), pad = (high - low) * 0.08;
  const x = at => left + (width - left - 10) * at / n, y = value => (height - bottom) - (height - bottom - 10) * (value - low + pad) / (high - low + 2 * pad);
  const svg = element('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'oc', 'font-family': 'sans-serif', 'font-size': '13', fill: 'currentColor',
    'aria-label': `Loss minus that of ${reference}, by position; ` + curves.map(curve => `${curve.spec}: from ${curve.points[0][1].toFixed(2)} to ${curve.points.at(-1)[1].toFixed(2)} nats`).join('; ')});
  svg.append(element('line', {x1: left, x2: width - 10, y1: y(0), y2: y(0), stroke: 'currentColor'}));
  for (const value of [low, high]) svg.append(element('text', {x: left - 6, y: y(value) + 4, 'text-anchor': 'end'}, value.toFixed(2)));
  svg.append(element('text', {x: left - 6, y: y(0) - 4, 'text-anchor': 'end'}, '0'), element('text', {x: width - 10, y: height - 8, 'text-anchor': 'end'}, `token ${n}`),
    element('text', {x: left, y: height - 8}, 'nats, more is worse'));
  if (n > model().trained_length) {
    const at = x(model().trained_length);
    svg.append(element('line', {x1: at, x2: at, y1: 6, y2: height - bottom, stroke: 'currentColor', 'stroke-dasharray': '4 4'}), element('text', {x: at + 4, y: 18}, 'trained length'));
  }
  for (const {spec, points} of curves) {
    svg.append(element('polyline', {points: points.map(([at, value]) => `${x(at)},${y(value)}`).join(' '), fill: 'none', 'stroke-width': 2}));
    svg.lastChild.style.stroke = colour(spec);
    for (const [at, value] of points) {
      const sign = element('text', {x: x(at), y: y(value) + 4, 'text-anchor': 'middle'}, mark(spec));
      sign.style.fill = colour(spec);
      svg.append(sign);
    }
  }
  $(figure).replaceChildren(svg);
}

// What a panel shows, as a picture: every line of text where it stands, on its tint.
function picture(panel) {
  const box = panel.getBoundingClientRect(), left = box.left - panel.scrollLeft, top = box.top - panel.scrollTop;
  const width = panel.scrollWidth || box.width, height = panel.scrollHeight || box.height;
  const svg = element('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': panel.getAttribute('aria-label')});
  const walker = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node; (node = walker.nextNode());) {
    const style = getComputedStyle(node.parentElement), lines = [];
    for (let i = 0; i < node.length; ++i) {
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const place = range.getBoundingClientRect(), line = lines.at(-1);
      if (line && (!place.width || Math.abs(line.y - place.top) < 2)) {
        line.text += node.data[i];
        line.width = Math.max(line.width, place.right - line.x);
      } else if (place.width) {
        lines.push({text: node.data[i], x: place.left, y: place.top, width: place.width, height: place.height});
      }
    }
    for (const {text, x, y, width: wide, height: high} of lines) {
      svg.append(element('rect', {x: x - left, y: y - top, width: wide, height: high, fill: style.backgroundColor}),
        element('text', {x: x - left, y: y - top + 0.79 * high, textLength: wide, lengthAdjust: 'spacingAndGlyphs', 'xml:space': 'preserve',
          'font-family': 'sans-serif', 'font-size': style.fontSize, 'font-weight': style.fontWeight, fill: style.color}, text));
    }
  }
  return svg;
}

// Each panel's numbers, the first row their names, and where its picture is.
const curveRows = figure => [['token', ...drawn[figure].map(curve => curve.spec)],
  ...(drawn[figure][0]?.points || []).map(([at], i) => [at, ...drawn[figure].map(curve => curve.points[i][1])])];
const PANELS = {
  losses: ['losses', () => [['scheme', 'nats a token', 'perplexity', 'against ' + state.reference, 'error', 'standing'], ...scored().map(spec => {
    const {nats_per_token: nats} = rowOf(spec), {mean, error} = difference(spec);
    return [spec, nats, Math.exp(nats), mean, error, trained(spec) ? 'trained under it' : 'not trained for it'];
  })]],
  text: ['tokens', () => [['position', 'token', ...scored()], ...scores.texts[0].pieces.map((piece, i) => [i, piece, ...scored().map(spec => rowOf(spec).token_nats[i])])]],
  token: ['token', () => [['scheme', 'rank', 'token', 'nats'], ...scored().flatMap(spec => [[spec, 'in the text', scores.texts[0].pieces[state.at], rowOf(spec).token_nats[state.at]],
    ...(rowOf(spec).top[state.at] || []).map((item, i) => [spec, i + 1, item.token, -item.logprob])])]],
  difference: ['chart', () => curveRows('chart')],
  columns: ['columns', () => [['scheme', 'token', 'nats'], ...[...$('columns').querySelectorAll('[data-nats]')].map(span => [span.parentElement.dataset.spec, span.textContent, span.dataset.nats])]],
  scheme: ['kind-chart', () => curveRows('kind-chart')],
};
function save(panel, kind) {
  const [place, rows] = PANELS[panel], quoted = cell => `"${String(cell ?? '').replaceAll('"', '""')}"`;
  if (!$(place).firstChild) return;
  let text = '';
  if (kind === 'csv') {
    text = rows().map(row => row.map(cell => typeof cell === 'number' ? cell : quoted(cell)).join(',') + '\n').join('');
  } else {
    const svg = $(place).querySelector('svg')?.cloneNode(true) || picture($(place)), style = getComputedStyle(document.documentElement);
    svg.prepend(element('rect', {width: '100%', height: '100%', fill: 'var(--paper)'}));
    text = new XMLSerializer().serializeToString(svg).replace(/var\((--\w+)\)/g, (all, name) => style.getPropertyValue(name))
      .replaceAll('currentColor', style.getPropertyValue('--ink')).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, '\ufffd');
  }
  make('a', {href: `data:${{csv: 'text/csv', svg: 'image/svg+xml'}[kind]};charset=utf-8,` + encodeURIComponent(text), download: `${panel}.${kind}`}).click();
}

// One column of text a scheme, all from one seed.
async function write() {
  writing?.abort();
  const control = writing = new AbortController();
  $('halt').disabled = false;
  fault(null);
  const grown = new Map();
  $('columns').replaceChildren();
  const marked = new Set();
  const markFirst = () => {
    const own = grown.get(state.reference).spans;
    for (const [spec, {spans}] of grown) {
      if (spec === state.reference || marked.has(spec)) continue;
      for (let i = 0; i < Math.min(spans.length, own.length); ++i)
        if (spans[i].textContent !== own[i].textContent) {
          spans[i].classList.add('differs');
          spans[i].title = 'the first that differs: ' + spans[i].title;
          marked.add(spec);
          break;
        }
    }
  };
  const grow = async spec => {
    const column = make('div', {className: 'column'}), spans = [];
    column.dataset.spec = spec;
    column.append(make('strong', {}, signOf(spec), spec), make('br'));
    $('columns').append(column);
    grown.set(spec, {spans});
    const body = {model: model().id, prompt: $('prompt').value, max_tokens: Number($('count').value), temperature: Number($('temperature').value),
      top_p: Number($('top-p').value), seed: Number($('seed').value), stream: true, logprobs: 3, ...(spec === 'native' ? {} : {position: spec})};
    const answer = await ask('/v1/completions', body, control.signal);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let held = '';;) {
      const {value, done} = await reader.read();
      if (done) return;
      held += value;
      const events = held.split('\n\n');
      held = events.pop();
      for (const event of events) {
        const data = event.replace(/^data: /, '');
        if (data === '[DONE]') return;
        const chunk = JSON.parse(data);
        if (chunk.error) throw new Error(chunk.error.message);
        const {text, logprobs} = chunk.choices[0];
        if (!text) continue;
        const nats = logprobs ? -logprobs.token_logprobs.reduce((a, b) => a + b, 0) : 0;
        const span = make('span', {textContent: text, title: logprobs ? `${nats.toFixed(2)} nats; likeliest: ` + Object.entries(logprobs.top_logprobs[0]).map(([token, value]) => `${JSON.stringify(token)} ${(100 * Math.exp(value)).toFixed(0)} %`).join(', ') : ''});
        span.style.backgroundColor = `rgba(var(--mark), ${Math.min(0.4, nats / 20).toFixed(3)})`;
        span.dataset.nats = nats;
        spans.push(span);
        column.append(span);
        markFirst();
      }
    }
  };
  $('status').textContent = 'writing …';
  try {
    await Promise.all(shown().map(grow));
    $('status').textContent = 'written';
  } catch (error) {
    if (error.name !== 'AbortError') fault(error);
    $('status').textContent = error.name === 'AbortError' ? 'stopped' : '';
  }
  if (writing === control) $('halt').disabled = true;
}

// The parameters of a scheme as fields; a number has a slider around its default.
let params = {};
const usualOf = name => positions.find(item => item.id === $('kind').value).params.find(param => param.key === name).default;
function kindSpec() {
  const set = Object.entries(params).filter(([name, value]) => value !== '' && value !== usualOf(name)).map(([name, value]) => `${name}=${value}`);
  return $('kind').value + (set.length ? ':' + set.join(',') : '');
}
function showKind() {
  const info = positions.find(item => item.id === $('kind').value);
  params = {};
  $('kind-summary').textContent = `${info.summary} (${info.source})`;
  $('params').replaceChildren(...info.params.flatMap((param, i) => {
    const field = make('input', {id: 'param-' + i, placeholder: param.default, spellcheck: false});
    const change = value => {
      field.value = params[param.key] = String(value).trim();
      showScheme();
    };
    field.addEventListener('change', () => change(field.value));
    const made = [make('label', {for: 'param-' + i, textContent: `${param.key} (${param.allowed})`}), field];
    const usual = Number(param.default);
    if (param.default !== '' && usual > 0) {
      const slider = make('input', {type: 'range', min: -3, max: 3, step: 0.1, value: 0, 'aria-label': param.key + ', from an eighth to eight times'});
      slider.addEventListener('change', () => {
        const value = usual * 2 ** Number(slider.value);
        change(Number.isInteger(usual) ? Math.max(1, Math.round(value)) : Number(value.toPrecision(4)));
      });
      made.push(slider);
    }
    return made;
  }));
  showScheme();
}
async function showScheme() {
  if (!positions.length) return;
  const spec = kindSpec(), turn = ++asked;
  $('kind-spec').textContent = spec;
  $('kind-loss').textContent = 'scoring …';
  try {
    const {ids} = await (await ask('/tokenize', {model: model().id, text: state.text})).json();
    const length = Math.max(2, Math.min(ids.length, state.length || model().trained_length));
    const {scores: found} = await (await ask('/v1/score', {model: model().id, text: ids.slice(0, length), positions: ['native', spec], ctx: length})).json();
    if (turn !== asked) return;
    const [native, own] = found.map(row => row.nats_per_token);
    $('kind-loss').textContent = `${own.toFixed(4)} nats a token on ${length} tokens; native ${native.toFixed(4)}; ${own >= native ? '+' : '−'}${Math.abs(own - native).toFixed(4)}`;
    drawChart('kind-chart', found, 'native');
    fault(null);
  } catch (error) {
    if (turn !== asked) return;
    $('kind-loss').textContent = error.message;
  }
}

function addSpec(spec) {
  if (!spec) return;
  if (!allSpecs().includes(spec)) state.extra.push(spec);
  if (!state.on.includes(spec)) state.on.push(spec);
  state.view = state.view === 'scheme' ? 'look' : state.view;
  refresh();
}

function listen() {
  const views = ['look', 'write', 'scheme'];
  for (const view of views) $('tab-' + view).addEventListener('click', () => { state.view = view; refresh(); });
  $('tabs').addEventListener('keydown', event => {
    const step = {ArrowRight: 1, ArrowLeft: 2}[event.key];
    if (!step) return;
    state.view = views[(views.indexOf(state.view) + step) % 3];
    refresh();
    $('tab-' + state.view).focus();
  });
  $('tokens').addEventListener('keydown', event => {
    const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10, Home: -1e9, End: 1e9}[event.key];
    if (!step || !scores) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(scores.texts[0].pieces.length - 1, state.at + step)));
    $('token-' + state.at).scrollIntoView({block: 'nearest'});
  });
  $('model').addEventListener('change', () => { state.model = $('model').value; state.on = ['native']; state.off = []; state.reference = 'native'; refresh(); });
  $('add').addEventListener('click', () => { addSpec($('spec').value.trim()); $('spec').value = ''; });
  $('spec').addEventListener('keydown', event => { if (event.key === 'Enter') $('add').click(); });
  $('reference').addEventListener('change', () => { state.reference = $('reference').value; refresh(); });
  $('length').addEventListener('input', () => { state.length = Number($('length').value); refresh(); });
  $('text').addEventListener('input', () => { state.text = $('text').value; refresh(); });
  for (const id of ['prompt', 'temperature', 'top-p', 'seed', 'count']) $(id).addEventListener('input', showControls);
  $('write').addEventListener('click', write);
  $('halt').addEventListener('click', () => writing?.abort());
  $('kind').addEventListener('change', showKind);
  $('kind-add').addEventListener('click', () => addSpec(kindSpec()));
  $('key-form').addEventListener('submit', event => { event.preventDefault(); key = $('key').value; $('key-form').hidden = true; start(); });
  for (const row of document.querySelectorAll('[data-panel]'))
    row.append(...['csv', 'svg'].map(kind => {
      const button = make('button', {type: 'button', textContent: kind.toUpperCase(), 'aria-label': `${kind.toUpperCase()} of the ${row.title}`});
      button.addEventListener('click', () => save(row.dataset.panel, kind));
      return button;
    }));
  for (const button of document.querySelectorAll('[data-lesson]'))
    button.addEventListener('click', () => {
      const {on, off, length} = LESSONS[button.dataset.lesson];
      history.pushState(null, '', location.href);  // Back brings back what was there
      for (const spec of on) if (!allSpecs().includes(spec)) state.extra.push(spec);
      Object.assign(state, {view: 'look', on: [...on], off: [...off], reference: 'native', text: SAMPLE, lesson: button.dataset.lesson,
        length: Math.min(length || model().trained_length, model().most_context)});
      $('text').value = SAMPLE;
      refresh();
    });
  window.addEventListener('hashchange', () => location.reload());
}

async function start() {
  try {
    models = (await (await ask('/v1/models')).json()).data;
    positions = (await (await ask('/v1/positions')).json()).data;
    if (!models.some(item => item.id === state.model)) state.model = models[0].id;
    $('model').replaceChildren(...models.map(item => make('option', {value: item.id, textContent: item.id, selected: item.id === state.model})));
    $('kind').replaceChildren(...positions.map(item => make('option', {value: item.id, textContent: item.id, selected: item.id === 'rope'})));
    if (!state.on.length) state.on = ['native'];
    if (!state.on.includes(state.reference)) state.reference = state.on[0];
    $('text').value = state.text;
    showKind();
    refresh();
    if (state.view !== 'look') score();
  } catch (error) {
    fault(error);
  }
}

recall();
listen();
start();
