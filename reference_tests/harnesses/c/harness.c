/* A harness: answers the requests of the conformance kit (formats/README.md), one JSON object a line.
 * To connect an implementation of your own, keep parts 1, 2 and 5, and call your functions from those between. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- 1. JSON, read where it stands in the line: a position is that of a value's first character ---- */
static char line[1 << 24], reply[1 << 24]; /* a reply is gathered first: a refusal half-way leaves nothing behind */
static size_t reply_length;
static jmp_buf given_up;
static const char *request, *inputs, *refusal_class, *refusal_message; /* of the request at hand */
static void require(bool condition, const char *class, const char *message) { /* without a class: it is skipped */
    if (condition) return;
    refusal_class = class;
    refusal_message = message;
    longjmp(given_up, 1);
}
static void require_range(bool condition) { require(condition, "OutOfRangeError", "outside its range"); }
static void require_shape(bool condition) { require(condition, "ShapeError", "lengths do not fit together"); }
static void emit(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    reply_length += (size_t)vsnprintf(reply + reply_length, sizeof reply - reply_length, format, arguments);
    va_end(arguments);
    if (reply_length >= sizeof reply) exit(1);
}
static const char *blanks(const char *at) { return at + strspn(at, " \t\r\n"); }
static const char *past(const char *at) { /* the position after a value; escapes in texts are only stepped over */
    if (*at == '"') {
        for (at++; *at != '"' && *at != '\0'; at++) at += *at == '\\' && at[1] != '\0';
        return at + (*at == '"');
    }
    if (*at != '[' && *at != '{') return at + strcspn(at, ",:]} \t\r\n");
    int depth = 0;
    do {
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        at = *at == '"' ? past(at) : at + 1;
    } while (depth > 0 && *at != '\0');
    return at;
}
static const char *item(const char *at) { /* at a list or object its first item, past an item the next; or NULL */
    at = blanks(at);
    if (*at == '\0' || strchr("[{,", *at) == NULL) return NULL;
    at = blanks(at + 1);
    return *at == ']' || *at == '}' ? NULL : at;
}
static bool is_text(const char *at, const char *text) {
    return *at == '"' && strncmp(at + 1, text, strlen(text)) == 0 && at[strlen(text) + 1] == '"';
}
static const char *member(const char *object, const char *name) {
    for (const char *at = item(object), *value; at != NULL; at = item(past(value))) {
        value = blanks(past(at));
        value = blanks(value + (*value == ':'));
        if (is_text(at, name)) return value;
    }
    return "";
}

/* ---- 2. Fields of the inputs, checked as they are read, and of the outputs ---- */
typedef enum { WHOLE, REAL, TRUTH } Content;
typedef struct { size_t rows, length; double *at; } Array; /* a plain list has 0 rows; ids and codes are doubles too */
static const char *field(const char *name) { return member(inputs, name); }
static double scalar(const char *at, Content content) {
    bool truth = strncmp(at, "true", 4) == 0, infinite = is_text(at, "NaN") || is_text(at, "Infinity");
    require(content != REAL || !(infinite || is_text(at, "-Infinity")), "NonFiniteError", "a number is not finite");
    size_t length = strspn(at, content == REAL ? "-+.eE0123456789" : "-0123456789");
    bool fits = content == TRUTH ? truth || strncmp(at, "false", 5) == 0 : length > 0 && at + length == past(at);
    require(fits, "DtypeError", "another kind of value is wanted");
    double value = content == TRUTH ? truth : strtod(at, NULL);
    require(content == REAL || fabs(value) <= 9007199254740992, NULL, "an integer beyond 2^53");
    return value;
}
static double whole(const char *name, double least, double limit) { /* of [least, limit) */
    double value = scalar(field(name), WHOLE);
    require_range(value >= least && value < limit);
    return value;
}
static uint64_t word(const char *at) {
    errno = 0;
    require(*at == '"' && at + 2 + strspn(at + 1, "0123456789") == past(at), "DtypeError", "a word is wanted");
    uint64_t value = strtoull(at + 1, NULL, 10);
    require_range(errno == 0);
    return value;
}
static Array new_array(size_t rows, size_t length) { /* never freed: a harness lives for one run of small cases */
    require(fmax((double)rows, 1) * (double)length < 1e7, NULL, "too large for this harness");
    return (Array){rows, length, calloc((rows + 1) * length + 1, sizeof(double))};
}
static Array new_list(size_t length) { return new_array(0, length); }
static size_t count(const char *items) {
    size_t result = 0;
    require_shape(*items == '[');
    for (const char *at = item(items); at != NULL; at = item(past(at))) result++;
    return result;
}
static Array array(const char *items, Content content) { /* of a list, or of a matrix with rows of equal length */
    const char *row = item(items);
    bool nested = row != NULL && *row == '[';
    if (!nested) row = items;
    Array a = new_array(nested ? count(items) : 0, count(row));
    for (size_t i = 0; row != NULL; row = nested ? item(past(row)) : NULL) {
        require_shape(count(row) == a.length);
        for (const char *at = item(row); at != NULL; at = item(past(at))) a.at[i++] = scalar(at, content);
    }
    return a;
}
static Array wholes(const char *name) { return array(field(name), WHOLE); }
static Array reals(const char *name) { return array(field(name), REAL); }
static void require_ids(Array a, double limit) {
    for (size_t i = 0; i < (a.rows > 0 ? a.rows : 1) * a.length; i++) require_range(a.at[i] >= 0 && a.at[i] < limit);
}
static Array rising(const char *name, double limit) {
    Array a = wholes(name);
    for (size_t i = 1; i < a.length; i++) require(a.at[i - 1] < a.at[i], "OrderError", "does not rise strictly");
    require_ids(a, limit);
    return a;
}
static void put_name(const char *name) { emit("%s\"%s\": ", reply[reply_length - 1] == '{' ? "" : ", ", name); }
static void emit_number(double value) {
    if (isfinite(value)) emit("%.17g", value);
    else emit(isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}
static void put_number(const char *name, double value) { put_name(name), emit_number(value); }
static void put(const char *name, Array a) {
    put_name(name);
    if (a.rows > 0) emit("[");
    for (size_t r = 0, i = 0; r < (a.rows > 0 ? a.rows : 1); r++) {
        emit(r > 0 ? ", [" : "[");
        for (size_t end = i + a.length; i < end; i++) emit(i > end - a.length ? ", " : ""), emit_number(a.at[i]);
        emit("]");
    }
    if (a.rows > 0) emit("]");
}

/* ---- 3. Hashing and keys. A vector has all its coordinates here, and NaN where it has no entry. ---- */
enum { NEURONS = 4096 };
static Array absent(size_t length) {
    Array a = new_list(length);
    for (size_t i = 0; i < length; i++) a.at[i] = NAN;
    return a;
}
static Array read_vector(void) {
    bool dense = *field("indices") == 'n';
    Array values = reals("values"), x = absent((size_t)whole("dimension", 1, INFINITY));
    Array indices = dense ? x : rising("indices", (double)x.length);
    require_shape(values.length == indices.length);
    for (size_t e = 0; e < values.length; e++) { /* a value of 0, listed or not, is no entry */
        if (values.at[e] != 0) x.at[dense ? e : (size_t)indices.at[e]] = values.at[e];
    }
    return x;
}
static Array members_of(Array weights, double least) { /* the ids whose weights are not less, and no NaN */
    Array ids = new_list(weights.length);
    ids.length = 0;
    for (size_t i = 0; i < weights.length; i++) if (weights.at[i] >= least) ids.at[ids.length++] = (double)i;
    return ids;
}
static Array largest(Array weights, double kept) { /* all others are NaN; of equal weights the first is kept */
    Array result = absent(weights.length);
    for (size_t i = 0; i < weights.length; i++) {
        double ahead = 0;
        for (size_t j = 0; j < weights.length && !isnan(weights.at[i]); j++)
            ahead += weights.at[j] > weights.at[i] || (weights.at[j] == weights.at[i] && j < i);
        if (ahead < kept) result.at[i] = weights.at[i];
    }
    return result;
}
static void run_probe_table(void) {
    double bins = whole("bins", 1, INFINITY), attempts = whole("attempts", 1, INFINITY);
    uint64_t multiplier = word(field("multiplier")), hash = word(field("addend"));
    require_range(bins * attempts <= 4294967296);
    Array probes = new_array((size_t)bins, (size_t)attempts);
    for (size_t i = 0; i < probes.rows * probes.length; i++, hash += multiplier)
        probes.at[i] = (double)((hash >> 32) * (uint64_t)bins >> 32);
    put("probes", probes);
}
static void put_densified(Array codes) { /* empty bins have the code -1 */
    Array filled = new_list(codes.length), probes = wholes("probes"); /* apart: a bin that borrowed does not lend */
    double failures = 0;
    require_shape(probes.rows == codes.length);
    require_ids(probes, (double)codes.length);
    for (size_t bin = 0; bin < codes.length; bin++) {
        const double *probe = probes.at + bin * probes.length, *end = probe + probes.length;
        double code = codes.at[bin];
        while (code < 0 && probe < end) code = codes.at[(size_t)*probe++];
        failures += code < 0;
        filled.at[bin] = fmax(code, 0);
    }
    put("codes", filled);
    put_number("failures", failures);
}
static void run_densify(void) {
    Array codes = wholes("codes"), occupied = array(field("occupied"), TRUTH);
    double code_range = whole("code_range", 1, INFINITY);
    require_shape(codes.length == occupied.length);
    for (size_t bin = 0; bin < codes.length; bin++) {
        if (occupied.at[bin] == 0) codes.at[bin] = -1;
        else require_range(codes.at[bin] >= 0 && codes.at[bin] < code_range);
    }
    put_densified(codes);
}
enum { DIGITS = 160, BIAS = 2400 }; /* an exact sum: digits of 32 bits, digit i worth 2^(32 i - BIAS) */
static void add_exactly(int64_t *digits, double part, int exponent) { /* part * 2^exponent */
    int64_t *digit = digits + (exponent + BIAS) / 32;
    part = ldexp(part, (exponent + BIAS) % 32);
    for (; part != 0; part = ldexp(part - trunc(part), 32)) *digit-- += (int64_t)part;
}
static double sign_code(const double *coordinates, const double *coefficients, size_t length, Array x) {
    int64_t digits[DIGITS] = {0}, carry = 0;
    for (size_t i = 0; i < length; i++) {
        double value = x.at[(size_t)coordinates[i]];
        int exponent, exponent_of_value; /* kept apart, so that no product overflows or loses a bit */
        double coefficient = frexp(coefficients[i], &exponent);
        value = frexp(isnan(value) ? 0 : value, &exponent_of_value);
        add_exactly(digits, coefficient * value, exponent + exponent_of_value);
        add_exactly(digits, fma(coefficient, value, -(coefficient * value)), exponent + exponent_of_value);
    }
    for (int i = 0; i < DIGITS; i++) { /* carry = floor((digit + carry) / 2^32); the last one has the sign */
        carry += digits[i];
        carry = carry / 4294967296 - (carry % 4294967296 < 0);
    }
    return carry >= 0;
}
static void run_simhash_codes(void) {
    Array x = read_vector(), coordinates = wholes("coordinates"), coefficients = reals("coefficients");
    size_t length = coordinates.length;
    require_ids(coordinates, (double)x.length);
    require_shape(coordinates.rows == coefficients.rows && length == coefficients.length);
    Array codes = new_list(coordinates.rows);
    for (size_t j = 0, i = 0; j < codes.length; j++, i += length)
        codes.at[j] = sign_code(coordinates.at + i, coefficients.at + i, length, x);
    put("codes", codes);
}
static Array winners(Array x) { /* the place of each bin's first largest value; -1: an empty bin */
    Array bins = wholes("bins"), codes = new_list(bins.rows);
    require_ids(bins, (double)x.length);
    for (size_t j = 0; j < bins.rows; j++) {
        double most = NAN;
        codes.at[j] = -1;
        for (size_t place = 0; place < bins.length; place++) {
            double value = x.at[(size_t)bins.at[j * bins.length + place]];
            if (isnan(value) || value <= most) continue; /* nothing is <= NaN */
            most = value;
            codes.at[j] = (double)place;
        }
    }
    return codes;
}
static void require_distinct(const double *ids, size_t length) {
    for (size_t i = 0; i < length; i++) for (size_t j = 0; j < i; j++) require_range(ids[i] != ids[j]);
}
static void run_wta_codes(void) {
    Array x = read_vector(), bins = wholes("bins");
    for (size_t i = 0; i < x.length; i++) if (isnan(x.at[i])) x.at[i] = 0;
    for (size_t j = 0; j < bins.rows; j++) require_distinct(bins.at + j * bins.length, bins.length);
    put("codes", winners(x));
}
static void run_dwta_codes(void) { put_densified(winners(read_vector())); }
static void run_minhash_codes(void) {
    Array x = largest(read_vector(), whole("kept", 1, INFINITY));
    put("members", members_of(x, -INFINITY));
    for (size_t i = 0; i < x.length; i++) x.at[i] *= 0; /* members compete as equals: the first one wins */
    put_densified(winners(x));
}
static uint64_t pack(const double *codes, size_t length, double base, uint64_t *power) { /* power: base^length */
    uint64_t key = 0, limit = (uint64_t)1 << 63;
    for (*power = 1; length > 0; length--, codes++, *power *= (uint64_t)base) {
        require_range(*codes >= 0 && *codes < base && *power <= limit / (uint64_t)base);
        key = key * (uint64_t)base + (uint64_t)*codes;
    }
    return key;
}
static double fold(uint64_t key, uint64_t multiplier, int table_bits) {
    require_range(multiplier % 2 == 1);
    return (double)(multiplier * key >> (64 - table_bits));
}
static void run_pack_key(void) {
    Array codes = wholes("codes");
    uint64_t power, key = pack(codes.at, codes.length, whole("base", 2, INFINITY), &power);
    put_name("key"), emit("\"%" PRIu64 "\"", key);
}
static void run_fold_key(void) {
    int table_bits = (int)whole("table_bits", 1, 33);
    put_number("bucket", fold(word(field("key")), word(field("multiplier")), table_bits));
}
static void run_bucket_keys(void) {
    Array codes = wholes("codes"), keys = new_list(count(field("multipliers")));
    size_t length = (size_t)whole("codes_per_table", 1, INFINITY);
    int table_bits = (int)whole("table_bits", 1, 33);
    const char *multiplier = item(field("multipliers"));
    require_shape(codes.length == length * keys.length);
    for (size_t t = 0; t < keys.length; t++, multiplier = item(past(multiplier))) {
        uint64_t power, key = pack(codes.at + t * length, length, whole("base", 2, INFINITY), &power);
        keys.at[t] = fold(key, word(multiplier), table_bits);
        if (power <= (uint64_t)1 << table_bits) keys.at[t] = (double)key;
    }
    put("keys", keys);
}

/* ---- 4. Sampling and the network ---- */
static double count_all(Array counts, Array ids) { /* gives how many are new; counts are NaN before */
    double new_ones = 0;
    for (size_t i = 0; i < ids.length; i++) {
        require_range(ids.at[i] >= 0);
        require(ids.at[i] < (double)counts.length, NULL, "neurons from 4,096 on");
        double *place = counts.at + (size_t)ids.at[i];
        new_ones += isnan(*place);
        *place = fmax(*place, 0) + 1;
    }
    return new_ones;
}
static void run_sampling(void) { /* union, vanilla, top_k and hard_threshold */
    const char *strategy = member(request, "operation"), *buckets = field("buckets");
    bool vanilla = is_text(strategy, "vanilla"), top_k = is_text(strategy, "top_k");
    Array counts = absent(NEURONS), order = vanilla ? wholes("order") : absent(0);
    double budget = vanilla || top_k ? whole("budget", 0, INFINITY) : 0, selected = 0;
    size_t tables = count(buckets);
    require_shape(!vanilla || order.length == tables);
    require_ids(order, (double)tables);
    require_distinct(order.at, order.length);
    for (size_t t = 0; t < tables && (!vanilla || selected < budget); t++) {
        const char *bucket = item(buckets);
        for (double skip = vanilla ? order.at[t] : (double)t; skip > 0; skip--) bucket = item(past(bucket));
        selected += count_all(counts, array(bucket, WHOLE));
    }
    if (top_k) counts = largest(counts, budget);
    put("active", members_of(counts, is_text(strategy, "hard_threshold") ? whole("minimum_count", 1, INFINITY) : 1));
}
static void run_force_labels(void) {
    Array counts = absent(NEURONS);
    count_all(counts, rising("selected", INFINITY));
    count_all(counts, wholes("labels"));
    put("active", members_of(counts, 1));
}
static void run_relu(void) {
    Array z = reals("sums");
    for (size_t i = 0; i < z.length; i++) z.at[i] = fmax(z.at[i], 0);
    put("outputs", z);
}
static void run_softmax(void) {
    Array z = reals("logits");
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < z.length; i++) most = fmax(most, z.at[i]);
    for (size_t i = 0; i < z.length; i++) sum += z.at[i] = exp(z.at[i] - most);
    for (size_t i = 0; i < z.length; i++) z.at[i] /= sum;
    put("probabilities", z);
}

/* ---- 5. The conversation ---- */
#define OPERATION(name) {#name, run_##name}
static const struct { const char *name; void (*run)(void); } operations[] = {
    OPERATION(probe_table), OPERATION(densify), OPERATION(simhash_codes), OPERATION(wta_codes), OPERATION(dwta_codes),
    OPERATION(minhash_codes), OPERATION(pack_key), OPERATION(fold_key), OPERATION(bucket_keys), OPERATION(force_labels),
    OPERATION(relu), OPERATION(softmax), {"union", run_sampling}, {"vanilla", run_sampling},
    {"top_k", run_sampling}, {"hard_threshold", run_sampling},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };
static void introduce(void) {
    emit("{\"version\": 1, \"name\": \"example harness\", \"language\": \"C11\", \"operations\": ");
    for (int i = 0; i < OPERATIONS; i++) emit("%s\"%s\"", i == 0 ? "[" : ", ", operations[i].name);
    emit("]}");
}
static void answer(void) {
    const char *id = member(request, "id"), *name = member(request, "operation");
    inputs = member(request, "inputs");
    emit("{\"id\": %.*s, ", (int)(past(id) - id), id);
    const size_t start = reply_length;
    if (setjmp(given_up) == 0) {
        int i = 0;
        while (i < OPERATIONS && !is_text(name, operations[i].name)) i++;
        require(i < OPERATIONS, NULL, "not offered");
        emit("\"outputs\": {");
        operations[i].run();
        emit("}}");
        return;
    }
    reply_length = start;
    if (refusal_class == NULL) emit("\"skipped\": \"%s\"}", refusal_message);
    else emit("\"refused\": {\"class\": \"%s\", \"message\": \"%s\"}}", refusal_class, refusal_message);
}
int main(void) {
    while (fgets(line, sizeof line, stdin) != NULL) {
        request = blanks(line);
        const char *command = member(request, "command");
        if (is_text(command, "stop")) break;
        reply_length = 0;
        if (is_text(command, "start")) introduce();
        else answer();
        puts(reply);
        fflush(stdout);
    }
}
