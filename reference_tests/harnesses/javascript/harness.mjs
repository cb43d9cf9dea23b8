// SLIDE in one file: every operation of the conformance kit's pages, asked and answered as JSON lines.
// Slow on purpose: plain lists, and functions to be read beside their paragraphs of the pages, with the pages' names.
// In this order: reading, hashing, keys, tables, sampling, network, optimizing, trace, protocol.
import { createInterface } from "node:readline";

// --- Reading, and refusing what makes no sense ---------------------------------------------------------------------
function demand(condition, refusal, message) {
  if (!condition) throw Object.assign(new Error(message), { refusal });
}
const demandShape = (condition, message) => demand(condition, "ShapeError", message);
const demandRange = (condition, message) => demand(condition, "OutOfRangeError", message);
// Kinds of numbers: the least, and what they stay below. Distinct ids are those of a list in which none comes twice.
const integers = { integer: [-Infinity, Infinity], id: [0, Infinity], distinct: [0, Infinity], rising: [0, Infinity],
  size: [1, Infinity], base: [2, Infinity], bits: [1, 33] };
const ranges = { ...integers, number: [-Infinity, Infinity], positive: [Number.MIN_VALUE, Infinity],
  growth: [0, Infinity], fraction: [0, 1] };
function readNumber(value, kind, bound) {
  demand(!["NaN", "Infinity", "-Infinity"].includes(value), "NonFiniteError", "a number is not finite");
  demand(kind in integers ? Number.isInteger(value) : typeof value === "number", "DtypeError", "a wrong type");
  const [least, limit] = ranges[kind];
  demandRange(value >= least && value < (bound ?? limit), `${value} is outside its range`);
  return value;
}
function readScalar(value, kind, bound) {
  if (kind in ranges) return readNumber(value, kind, bound);
  if (kind === "truth") demand(typeof value === "boolean", "DtypeError", "a truth value is wanted");
  else if (kind === "word") demand(/^[0-9]+$/.test(value), "DtypeError", "a word is wanted");
  else demandRange(kind.split("|").includes(value), `one of ${kind} is wanted`);
  demandRange(kind !== "word" || BigInt(value) < 1n << 64n, "a word has 64 bits");
  return kind === "word" ? BigInt(value) : value; // a JavaScript number holds 53 bits
}
function readValue(value, kind, bound, [size, ...innerSizes], known) {
  if (size === undefined) return readScalar(value, kind, bound);
  demandShape(Array.isArray(value), "a list is wanted");
  if (size !== "~") demandShape((known[size] ??= value.length) === value.length, `lists of length ${size} differ`);
  const list = value.map((member) => readValue(member, kind, bound, innerSizes, known));
  demandRange(kind !== "distinct" || new Set(list).size === list.length, "an id comes twice");
  demand(kind !== "rising" || list.every((id, at) => !(list[at - 1] >= id)), "OrderError", "ids do not rise strictly");
  return list;
}
// "codes:id<m/C/K" is a matrix of ids below m. Sizes of the same name are equal, "~" is any size, "?" allows null.
function read(record, fields) {
  const known = {};
  for (const field of fields.split(" ")) {
    const [, name, kind, , bound, optional, sizes] = /^(\w+):([\w|]+)(<(\w+))?(\??)(.*)$/.exec(field);
    if (optional && record[name] === null) known[name] = null;
    else known[name] = readValue(record[name], kind, known[bound], sizes.split("/").slice(1), known);
  }
  return known;
}

// An answer's function gets the fields that are named, read and checked, and all inputs as they came.
const operations = {};
const offer = (name, fields, answer) => (operations[name] = (inputs) => answer(read(inputs, fields), inputs));
const sum = (terms, start = 0) => terms.reduce((total, term) => total + term, start);
const range = (count) => [...Array(count).keys()];
const rising = (ids) => [...new Set(ids)].sort((left, right) => left - right);

// --- Hashing -------------------------------------------------------------------------------------------------------
// A vector's entries by coordinate: a value of 0, listed or not, is none.
function entriesOf({ dimension, indices, values }) {
  const coordinates = indices ?? range(dimension);
  demandShape(values.length === coordinates.length, "a value for every coordinate is wanted");
  const entries = coordinates.map((coordinate, at) => [coordinate, values[at]]);
  return new Map(entries.filter(([, value]) => value !== 0));
}
const vector = "dimension:size indices:rising<dimension?/e values:number/~";
const [bins, probes] = ["bins:distinct<dimension/C/m", "probes:id<C/C/a"];
offer("probe_table", "bins:size attempts:size multiplier:word addend:word", ({ attempts, ...inputs }) => {
  demandRange(inputs.bins * attempts <= 2 ** 32, "there are more than 2^32 probes");
  const hash = (x) => BigInt.asUintN(64, inputs.multiplier * BigInt(x) + inputs.addend) >> 32n;
  const probe = (bin, attempt) => Number((hash(bin * attempts + attempt) * BigInt(inputs.bins)) >> 32n);
  return { probes: range(inputs.bins).map((bin) => range(attempts).map((attempt) => probe(bin, attempt))) };
});
// Donors are looked for in the bins as they came: a bin that borrowed does not lend.
function densified(codes, occupied, asked) {
  const donors = codes.map((_, bin) => (occupied[bin] ? bin : asked[bin].find((other) => occupied[other])));
  return { codes: donors.map((bin) => codes[bin] ?? 0), failures: donors.filter((bin) => bin === undefined).length };
}
offer("densify", `codes:integer/C occupied:truth/C code_range:size ${probes}`, ({ codes, occupied, ...inputs }) => {
  demandRange(codes.every((code, bin) => !occupied[bin] || (code >= 0 && code < inputs.code_range)), "a code outside");
  return densified(codes, occupied, inputs.probes);
});
// A double is a whole number of units of 2^-1074. In such units BigInt sums products without rounding or overflow.
function wholeUnits(value) {
  const bits = new BigUint64Array(Float64Array.of(Math.abs(value)).buffer)[0];
  const [exponent, fraction] = [bits >> 52n, BigInt.asUintN(52, bits)];
  const magnitude = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
  return value < 0 ? -magnitude : magnitude;
}
const projections = "coordinates:id<dimension/C/s coefficients:number/C/s";
const simhash = offer("simhash_codes", `${vector} ${projections}`, ({ coordinates, coefficients, ...inputs }) => {
  const entries = entriesOf(inputs);
  const product = (coordinate, factor) => wholeUnits(factor) * wholeUnits(entries.get(coordinate) ?? 0);
  const exactSum = (row, factors) => sum(row.map((coordinate, at) => product(coordinate, factors[at])), 0n);
  return { codes: coordinates.map((row, code) => (exactSum(row, coefficients[code]) >= 0n ? 1 : 0)) };
});
function firstMaximum(bin, entries, absent) { // a coordinate without an entry has the value `absent`
  const values = bin.map((coordinate) => entries.get(coordinate) ?? absent);
  return values.indexOf(Math.max(...values));
}
const wta = offer("wta_codes", `${vector} ${bins}`, (inputs) =>
  ({ codes: inputs.bins.map((bin) => firstMaximum(bin, entriesOf(inputs), 0)) }));
function winners(entries, inputs) {
  const occupied = inputs.bins.map((bin) => bin.some((coordinate) => entries.has(coordinate)));
  const codes = inputs.bins.map((bin) => firstMaximum(bin, entries, -Infinity));
  return { occupied, ...densified(codes, occupied, inputs.probes) };
}
const dwta = offer("dwta_codes", `${vector} ${bins} ${probes}`, (inputs) => winners(entriesOf(inputs), inputs));
const minhash = offer("minhash_codes", `${vector} ${bins} ${probes} kept:size`, (inputs) => {
  const largestFirst = [...entriesOf(inputs)].sort(([id, value], [otherId, other]) => other - value || id - otherId);
  const members = rising(largestFirst.slice(0, inputs.kept).map(([id]) => id));
  const equalEntries = new Map(members.map((id) => [id, 1])); // of equal entries the first place wins
  return { members, ...winners(equalEntries, inputs) };
});

// --- Keys ----------------------------------------------------------------------------------------------------------
function packed(codes, base) {
  demandRange(BigInt(base) ** BigInt(codes.length) <= 1n << 63n, "a key has more than 63 bits");
  return codes.reduce((key, code) => key * BigInt(base) + BigInt(code), 0n);
}
function folded(key, multiplier, tableBits) {
  demandRange(multiplier % 2n === 1n && key < 1n << 63n, "a multiplier is odd, and a key has 63 bits");
  return Number(BigInt.asUintN(64, multiplier * key) >> BigInt(64 - tableBits));
}
offer("pack_key", "base:base codes:id<base/K", ({ codes, base }) => ({ key: String(packed(codes, base)) }));
offer("fold_key", "key:word multiplier:word table_bits:bits", (inputs) =>
  ({ bucket: folded(inputs.key, inputs.multiplier, inputs.table_bits) }));
const keying = "codes_per_table:size table_bits:bits multipliers:word/L";
const bucketKeys = offer("bucket_keys", `base:base codes:id<base/C ${keying}`, ({ codes, base, ...inputs }) => {
  const { codes_per_table: perTable, table_bits: tableBits, multipliers } = inputs;
  demandShape(codes.length === perTable * multipliers.length, "K codes for each of L tables are wanted");
  const packedKeys = multipliers.map((_, table) => packed(codes.slice(table * perTable, (table + 1) * perTable), base));
  const foldedKeys = multipliers.map((multiplier, table) => folded(packedKeys[table], multiplier, tableBits));
  return { keys: base ** perTable <= 2 ** tableBits ? packedKeys.map(Number) : foldedKeys };
});
// `functions` are the hash functions of a layer as they came: a family with its fields, and how codes become keys.
function vectorKeys(functions, indices, values) {
  const { codes } = { simhash, wta, dwta, minhash }[functions.family]({ ...functions, indices, values });
  return bucketKeys({ ...functions, codes, base: functions.family === "simhash" ? 2 : functions.bins[0]?.length }).keys;
}
const neuronFields = "family:simhash|wta|dwta|minhash weights:number/N/d biases:number/N"; // the bias is not hashed
const neuronKeys = offer("neuron_keys", neuronFields, ({ weights }, inputs) =>
  ({ keys: weights.map((values) => vectorKeys(inputs, null, values)) }));

// --- Tables: a Map from key to { members, arrivals } ---------------------------------------------------------------
function readTable(record) {
  const { keys, buckets, arrivals } = read(record, "keys:rising/B buckets:id/B/~ arrivals:size/B");
  return new Map(keys.map((key, at) => [key, { members: buckets[at], arrivals: arrivals[at] }]));
}
function arrive(table, key, neuron, draw, { capacity, policy }) {
  const bucket = table.get(key) ?? { members: [], arrivals: 0 };
  const slot = Math.floor(draw * (bucket.arrivals + 1));
  if (policy === "fifo" || bucket.members.length < capacity) bucket.members.push(neuron);
  else if (slot < capacity) bucket.members[slot] = neuron;
  if (policy === "fifo" && bucket.members.length > capacity) bucket.members.shift();
  bucket.arrivals += 1;
  table.set(key, bucket);
}
function depart(table, key, neuron) {
  const bucket = table.get(key);
  if (bucket === undefined) return;
  bucket.members = bucket.members.filter((member) => member !== neuron);
  bucket.arrivals -= 1;
  if (bucket.arrivals === 0) table.delete(key);
}
function changed(table, departures, arrivals, { neurons, uniforms, ...settings }) {
  departures.forEach((key, at) => depart(table, key, neurons[at]));
  arrivals.forEach((key, at) => arrive(table, key, neurons[at], uniforms[at], settings));
  const [keys, column] = [rising(table.keys()), (name) => keys.map((key) => table.get(key)[name])];
  return { keys, buckets: column("members"), arrivals: column("arrivals") };
}
const filling = "capacity:size policy:fifo|reservoir uniforms:fraction/n";
const buildTable = offer("build_table", `keys:id/n order:distinct<n/n ${filling}`, ({ keys, ...inputs }) =>
  changed(new Map(), [], keys, { ...inputs, neurons: range(keys.length) }));
offer("insert_all", `keys:id/n neurons:id/n ${filling}`, (inputs, { table }) =>
  changed(readTable(table), [], inputs.keys, inputs));
offer("delete", "key:id neuron:id", ({ key, neuron }, { table }) =>
  changed(readTable(table), [key], [], { neurons: [neuron] }));
offer("move", `old_keys:id/n new_keys:id/n neurons:id/n ${filling}`, (inputs, { table }) =>
  changed(readTable(table), inputs.old_keys, inputs.new_keys, inputs));
const queryTable = offer("query_table", "keys:id/~", ({ keys }, { table }) =>
  ({ buckets: keys.map((key) => readTable(table).get(key)?.members ?? []) }));

// --- Sampling ------------------------------------------------------------------------------------------------------
const counting = (buckets) => (neuron) => buckets.flat().filter((other) => other === neuron).length;
const union = offer("union", "buckets:id/L/~", ({ buckets }) => ({ active: rising(buckets.flat()) }));
const vanilla = offer("vanilla", "buckets:id/L/~ order:distinct<L/L budget:id", ({ buckets, order, budget }) => {
  const seen = new Set();
  order.forEach((table) => seen.size < budget && buckets[table].forEach((neuron) => seen.add(neuron)));
  return { active: rising(seen) };
});
const topK = offer("top_k", "buckets:id/L/~ budget:id", ({ buckets, budget }) => {
  const count = counting(buckets);
  const frequentFirst = rising(buckets.flat()).sort((left, right) => count(right) - count(left) || left - right);
  return { active: rising(frequentFirst.slice(0, budget)) };
});
const threshold = offer("hard_threshold", "buckets:id/L/~ minimum_count:size", ({ buckets, ...inputs }) =>
  ({ active: rising(buckets.flat()).filter((neuron) => counting(buckets)(neuron) >= inputs.minimum_count) }));
const forceLabels = offer("force_labels", "selected:rising/~ labels:id/~", ({ selected, labels }) =>
  ({ active: rising([...selected, ...labels]) }));
const pad = offer("pad", "selected:rising/~ candidates:distinct/~ minimum_active:id", ({ selected, ...inputs }) => {
  const newcomers = inputs.candidates.filter((neuron) => !selected.includes(neuron));
  return { active: rising([...selected, ...newcomers.slice(0, Math.max(0, inputs.minimum_active - selected.length))]) };
});
const activeFields = "buckets:id/L/~ order:distinct<L/L strategy:union|vanilla|top_k|hard_threshold";
const activeSet = offer("active_set", activeFields, ({ strategy }, inputs) => {
  const retrieved = { union, vanilla, top_k: topK, hard_threshold: threshold }[strategy](inputs).active;
  const selected = forceLabels({ ...inputs, selected: retrieved }).active;
  return { selected, active: pad({ ...inputs, selected }).active };
});
offer("log_weights", "population:id active:rising<population/~ selected:id/~", ({ active, selected }) => {
  demandRange(selected.every((neuron) => active.includes(neuron)), "a selected neuron is not active");
  return { log_weights: active.map(() => 0) };
});

// --- Network -------------------------------------------------------------------------------------------------------
const layerInput = "weights:number/n/d active:rising<n/s indices:rising<d/e values:number/e";
const preactivations = offer("preactivations", `${layerInput} biases:number/n`, ({ weights, biases, ...inputs }) => {
  const products = (neuron) => inputs.indices.map((id, at) => weights[neuron][id] * inputs.values[at]);
  return { sums: inputs.active.map((neuron) => sum(products(neuron)) + biases[neuron]) };
});
const relu = offer("relu", "sums:number/s", ({ sums }) => ({ outputs: sums.map((value) => Math.max(0, value)) }));
// Logits relative to the largest, so that no power overflows.
const centred = (logits, largest = Math.max(...logits)) => logits.map((logit) => logit - largest);
const softmax = offer("softmax", "logits:number/s", ({ logits }) => {
  const powers = centred(logits).map(Math.exp);
  return { probabilities: powers.map((power) => power / sum(powers)) };
});
const targets = offer("targets", "active:rising/~ labels:rising/~", ({ active, labels }) =>
  ({ wanted: active.map((neuron) => (labels.includes(neuron) ? 1 / labels.length : 0)) }));
const crossEntropy = offer("cross_entropy", "logits:number/s wanted:number/s", ({ logits, wanted }) => {
  const logarithm = Math.log(sum(centred(logits).map(Math.exp)));
  return { loss: sum(centred(logits).map((logit, at) => (wanted[at] ? wanted[at] * (logarithm - logit) : 0))) };
});
const outputError = offer("output_error", "probabilities:number/s wanted:number/s samples:size", (inputs) =>
  ({ error: inputs.wanted.map((t, at) => (inputs.probabilities[at] * sum(inputs.wanted) - t) / inputs.samples) }));
const backward = offer("backward", `${layerInput} error:number/s`, ({ weights, active, indices, values, error }) => {
  const inputError = indices.map((id) => sum(active.map((neuron, at) => error[at] * weights[neuron][id])));
  const errorBelow = inputError.map((slope, at) => (values[at] > 0 ? slope : 0));
  const weightGradient = error.map((slope) => values.map((value) => slope * value));
  return { weight_gradient: weightGradient, input_error: inputError, error_below: errorBelow };
});

// --- Optimizing ----------------------------------------------------------------------------------------------------
const decays = "learning_rate:positive first_decay:fraction second_decay:fraction epsilon:positive step:size";
const adamFields = `values:number/w gradient:number/w first:number/w second:number/w ${decays}`;
const adam = offer("adam", adamFields, ({ values, gradient, step, first_decay: b1, second_decay: b2, ...inputs }) => {
  const first = inputs.first.map((moment, at) => b1 * moment + (1 - b1) * gradient[at]);
  const second = inputs.second.map((moment, at) => b2 * moment + (1 - b2) * gradient[at] ** 2);
  const direction = (at) => first[at] / (1 - b1 ** step) / (Math.sqrt(second[at] / (1 - b2 ** step)) + inputs.epsilon);
  return { first, second, values: values.map((value, at) => value - inputs.learning_rate * direction(at)) };
});
const sgdFields = "values:number/w gradient:number/w velocity:number/w learning_rate:positive momentum:fraction";
const sgd = offer("sgd", sgdFields, (inputs) => {
  const velocity = inputs.velocity.map((speed, at) => inputs.momentum * speed + inputs.gradient[at]);
  return { velocity, values: inputs.values.map((value, at) => value - inputs.learning_rate * velocity[at]) };
});
function sgdRow(row) {
  const { velocity, values } = sgd({ ...row, velocity: row.first });
  return { values, first: velocity, second: row.second.map(() => 0) };
}
const matrices = "values:number/r/c gradient:number/r/c first:number/r/c second:number/r/c";
const rowFields = `${matrices} touched:truth/r touches:id/r rule:adam|sgd momentum:fraction ${decays}`;
const updateRows = offer("update_rows", rowFields, ({ values, gradient, first, second, touched, ...settings }) => {
  const row = (at) => ({ values: values[at], gradient: gradient[at], first: first[at], second: second[at] });
  const moved = { adam, sgd: sgdRow }[settings.rule];
  const rows = touched.map((moves, at) => (moves ? moved({ ...settings, ...row(at) }) : row(at)));
  const column = (name) => rows.map((after) => after[name]);
  const touches = settings.touches.map((count, at) => count + (touched[at] ? 1 : 0));
  return { values: column("values"), first: column("first"), second: column("second"), touches };
});
function* rebuildTimes({ first_interval: interval, growth }) {
  for (let rebuild = 0, time = 0; ; rebuild += 1) yield (time += interval * Math.exp(growth * rebuild));
}
const schedule = "first_interval:positive growth:growth";
offer("rebuild_steps", `${schedule} count:id`, (inputs) => {
  const clock = rebuildTimes(inputs);
  const times = range(inputs.count).map(() => clock.next().value);
  return { times, steps: times.map(Math.ceil) };
});
offer("rebuilds_due", `${schedule} steps:id`, (inputs) => {
  const clock = rebuildTimes(inputs);
  let count = 0;
  while (clock.next().value <= inputs.steps) count += 1;
  return { count };
});

// --- Trace ---------------------------------------------------------------------------------------------------------
const transposed = (rows) => rows[0].map((_, column) => rows.map((row) => row[column]));
const zeros = (rows) => rows.map((row) => row.map(() => 0));
const resting = (values) => ({ values, first: zeros(values), second: zeros(values), touches: values.map(() => 0) });
// What moves together: a neuron's weights, or in a layer without tables the weights of an input coordinate.
const asRows = ({ functions }, weights) => (functions ? weights : transposed(weights));
function startLayer({ weights, biases, tables: functions }, number, layers) {
  demandShape(number === 0 || weights[0].length === layers[number - 1].weights.length, "layers do not fit together");
  const weightState = resting(asRows({ functions }, weights));
  return { weights, biases, functions, weightState, biasState: resting(biases.map((bias) => [bias])) };
}
function buildTables(layer, { order, uniforms }) {
  const { keys } = neuronKeys({ ...layer.functions, weights: layer.weights, biases: layer.biases });
  layer.tables = uniforms.map((draws, table) =>
    buildTable({ ...layer.functions, order, uniforms: draws, keys: keys.map((row) => row[table]) }));
  return { keys, buckets: layer.tables.map((table) => table.keys.map((key, at) => [key, table.buckets[at]])) };
}
function retrieve({ functions, tables }, { indices, values }, draws, labels) {
  const keys = vectorKeys(functions, indices, values);
  const buckets = keys.map((key, at) => queryTable({ table: tables[at], keys: [key] }).buckets[0]);
  return { keys, buckets, active: activeSet({ ...functions, ...draws, buckets, labels }).active };
}
// What each layer saw of a sample: its input, its active neurons and their sums.
function forward(network, { indices, values, labels }, draws, record) {
  let input = { indices, values };
  return network.map((layer, number) => {
    const forced = number === network.length - 1 ? labels : [];
    const stages = layer.functions ? retrieve(layer, input, draws[number], forced) : {};
    const active = stages.active ?? range(layer.biases.length);
    const { sums } = preactivations({ ...layer, ...input, active });
    record(`.layer${number}`, { ...stages, sums });
    const pass = { ...input, active, sums };
    input = { indices: active, values: relu({ sums }).outputs };
    return pass;
  });
}
// Adds a sample's part to a layer's gradient, notes what moves, and gives the error of the layer below.
function descend(layer, pass, gradient) {
  const { weight_gradient: slopes, error_below: errorBelow } = backward({ ...layer, ...pass });
  pass.active.forEach((neuron, row) => {
    gradient.biases[neuron] += pass.error[row];
    pass.indices.forEach((id, column) => { gradient.weights[neuron][id] += slopes[row][column]; });
  });
  (layer.functions ? pass.active : pass.indices).forEach((row) => gradient.moving.add(row));
  return errorBelow;
}
function learnSample(network, sample, draws, samples, gradients, record) {
  const passes = forward(network, sample, draws, record);
  const { active, sums: logits } = passes.at(-1);
  const { probabilities } = softmax({ logits });
  const { wanted } = targets({ active, labels: sample.labels });
  record("", { probabilities, loss: crossEntropy({ logits, wanted }).loss });
  let { error } = outputError({ probabilities, wanted, samples });
  for (const number of range(network.length).reverse()) {
    error = descend(network[number], { ...passes[number], error }, gradients[number]);
  }
}
function moveLayer(layer, gradient, settings) {
  const isMoving = layer.weightState.values.map((_, row) => gradient.moving.has(row));
  const move = (state, slopes, touched) => updateRows({ ...settings, ...state, gradient: slopes, touched });
  layer.weightState = move(layer.weightState, asRows(layer, gradient.weights), isMoving);
  const biasesMoving = layer.functions ? isMoving : layer.biases.map(() => true);
  layer.biasState = move(layer.biasState, gradient.biases.map((slope) => [slope]), biasesMoving);
  layer.weights = asRows(layer, layer.weightState.values);
  layer.biases = layer.biasState.values.flat();
}
function learn(network, { samples, draws }, settings, record) {
  demandShape(samples.length > 0, "a batch has at least one sample");
  const gradients = network.map(({ weights, biases }) =>
    ({ weights: zeros(weights), biases: biases.map(() => 0), moving: new Set() }));
  samples.forEach((sample, at) => learnSample(network, sample, draws.map((ofLayer) => ofLayer?.[at]), samples.length,
    gradients, (place, stages) => record(`.sample${at}${place}`, stages)));
  gradients.forEach(({ weights, biases }, number) =>
    record(`.layer${number}`, { weight_gradient: weights, bias_gradient: biases }));
  network.forEach((layer, number) => {
    moveLayer(layer, gradients[number], settings);
    record(`.layer${number}`, { weights: layer.weights, biases: layer.biases });
  });
}
operations.training_trace = ({ layers, optimizer, builds, steps }) => {
  const outputs = {};
  const record = (place, stages) =>
    Object.entries(stages).forEach(([name, value]) => { outputs[`${place}.${name}`] = value; });
  const network = layers.map(startLayer);
  for (const step of range(steps.length + 1)) {
    const recordStep = (place, stages) => record(`step${step}${place}`, stages);
    if (step > 0) learn(network, steps[step - 1], { ...optimizer, step }, recordStep);
    const build = builds.find((listed) => listed.after_step === step);
    network.forEach((layer, number) => build?.layers[number] &&
      record(`build${step}.layer${number}`, buildTables(layer, build.layers[number])));
  }
  return outputs;
};

// --- Protocol ------------------------------------------------------------------------------------------------------
function answer({ id, operation, inputs }) {
  if (!(operation in operations)) return { id, skipped: "not offered" };
  try {
    return { id, outputs: operations[operation](inputs) };
  } catch ({ refusal, message, stack }) {
    return refusal ? { id, refused: { class: refusal, message } } : { id, errored: stack };
  }
}
const greeting = { version: 1, name: "harness-js", language: "JavaScript", operations: Object.keys(operations) };
const asJson = (_, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.command === "stop") break;
  process.stdout.write(`${JSON.stringify(request.command === "start" ? greeting : answer(request), asJson)}\n`);
}
