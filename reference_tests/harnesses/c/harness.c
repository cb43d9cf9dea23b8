/* The kit's operations in C11, written from the format pages: a small JSON reader, one function an operation, and the
 * loop that speaks JSON lines. Put your own functions in place of the operations; the rest can stay as it is.
 *     cc -std=c11 -O2 -o harness harness.c -lm && pyslide verify --adapter ./harness                              */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Memory, given back when the program ends, and refusals, which leave an operation from anywhere -------------- */
static jmp_buf refused;
static const char *refusal;

static void *take(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (memory == NULL) exit(EXIT_FAILURE);
    return memory;
}
static void demand(bool fine, const char *class) { if (!fine) { refusal = class; longjmp(refused, 1); } }
static void in_range(bool fine) { demand(fine, "OutOfRangeError"); }
static void fits(bool fine) { demand(fine, "ShapeError"); }

/* --- JSON: a value is null, true, false, a number, a text, a list or an object ---------------------------------- */
typedef struct Json {
    char kind;                 /* n t f 0 " [ { */
    double number;
    char *text;
    size_t count;
    struct Json *items, *names;
} Json;

static const char *at;
static void blank(void) { at += strspn(at, " \t\r\n"); }
static Json read_value(void);

static Json read_text(void) {  /* the kit's texts have no escapes */
    size_t length = strcspn(++at, "\"");
    Json value = {.kind = '"', .text = take(length + 1, 1)};
    memcpy(value.text, at, length);
    at += length + 1;
    return value;
}
static Json read_members(char kind, char close) {
    Json value = {.kind = kind};
    size_t room = 0;
    for (at++, blank(); *at != close; value.count++, blank()) {
        if (value.count == room) {
            room = room ? 2 * room : 8;
            Json *items = take(room, sizeof *items), *names = take(room, sizeof *names);
            if (value.count) memcpy(items, value.items, value.count * sizeof *items);
            if (value.count) memcpy(names, value.names, value.count * sizeof *names);
            value.items = items, value.names = names;
        }
        if (*at == ',') at++, blank();
        if (kind == '{') { value.names[value.count] = read_text(); blank(); at++; }
        value.items[value.count] = read_value();
    }
    at++;
    return value;
}
static Json read_value(void) {
    blank();
    if (*at == '[') return read_members('[', ']');
    if (*at == '{') return read_members('{', '}');
    if (*at == '"') return read_text();
    Json value = {.kind = *at};
    char *end = (char *)at + strspn(at, "abcdefghijklmnopqrstuvwxyz");
    if (end == at) value.kind = '0', value.number = strtod(at, &end);
    if (end == at) exit(EXIT_FAILURE);
    at = end;
    return value;
}
static Json member(Json object, const char *name) {
    for (size_t i = 0; i < object.count; i++) if (strcmp(object.names[i].text, name) == 0) return object.items[i];
    return (Json){.kind = 'n'};
}

/* --- From JSON to C: integers, reals and words of 64 bits, with how many there are ------------------------------ */
typedef struct { int64_t *at; size_t count; } Integers;
typedef struct { double *at; size_t count; } Reals;

static double real_of(Json value) {
    if (value.kind != '"') return value.number;
    return strcmp(value.text, "NaN") == 0 ? NAN : strcmp(value.text, "Infinity") == 0 ? INFINITY : -INFINITY;
}
static Integers integers(Json list) {
    Integers all = {take(list.count, sizeof(int64_t)), list.count};
    for (size_t i = 0; i < list.count; i++) all.at[i] = (int64_t)list.items[i].number;
    return all;
}
static Reals reals(Json list) {  /* every operation here refuses numbers that are not finite */
    Reals all = {take(list.count, sizeof(double)), list.count};
    for (size_t i = 0; i < list.count; i++) {
        all.at[i] = real_of(list.items[i]);
        demand(isfinite(all.at[i]), "NonFiniteError");
    }
    return all;
}
static int64_t whole(Json inputs, const char *name) { return (int64_t)member(inputs, name).number; }
static uint64_t word(Json value) { return strtoull(value.text, NULL, 10); }
static void ids_below(Integers ids, int64_t bound) {
    for (size_t i = 0; i < ids.count; i++) in_range(ids.at[i] >= 0 && ids.at[i] < bound);
}
static void rising(Integers ids) {
    for (size_t i = 1; i < ids.count; i++) demand(ids.at[i - 1] < ids.at[i], "OrderError");
}

/* --- What is answered: kept until the operation is through, since it may still refuse ---------------------------- */
static char *answer;
static size_t answered, room;
static void say(const char *format, ...) {
    va_list parts;
    if (room - answered < 512) { room = 2 * room + 1024; answer = realloc(answer, room); }
    if (answer == NULL) exit(EXIT_FAILURE);
    va_start(parts, format);
    answered += (size_t)vsnprintf(answer + answered, room - answered, format, parts);
    va_end(parts);
}
static void out(const char *name) { say("%s\"%s\": ", answered ? ", " : "", name); }
static void out_integer(const char *name, int64_t value) { out(name); say("%lld", (long long)value); }
static void out_integers(const char *name, Integers all) {
    out(name);
    say("[");
    for (size_t i = 0; i < all.count; i++) say("%s%lld", i ? ", " : "", (long long)all.at[i]);
    say("]");
}
static void out_reals(const char *name, Reals all) {
    out(name);
    say("[");
    for (size_t i = 0; i < all.count; i++) say("%s%.17g", i ? ", " : "", all.at[i]);
    say("]");
}

/* --- Hashing ---------------------------------------------------------------------------------------------------- */
typedef struct { int64_t dimension; Integers indices; Reals values; double *dense; } Vector;

static Vector vector(Json inputs) {
    Vector x = {.dimension = whole(inputs, "dimension"), .values = reals(member(inputs, "values"))};
    Json given = member(inputs, "indices");
    x.indices = integers(given);
    if (given.kind == 'n') {  /* dense: every coordinate in order */
        fits((int64_t)x.values.count == x.dimension);
        x.indices = (Integers){take(x.values.count, sizeof(int64_t)), x.values.count};
        for (size_t i = 0; i < x.values.count; i++) x.indices.at[i] = (int64_t)i;
    }
    fits(x.indices.count == x.values.count);
    ids_below(x.indices, x.dimension);
    rising(x.indices);
    x.dense = take((size_t)x.dimension, sizeof(double));
    for (size_t i = 0; i < x.values.count; i++) x.dense[x.indices.at[i]] = x.values.at[i];
    return x;
}
static Integers *rows(Json matrix, int64_t bound, bool distinct) {
    Integers *all = take(matrix.count, sizeof *all);
    for (size_t row = 0; row < matrix.count; row++) {
        all[row] = integers(matrix.items[row]);
        fits(all[row].count == all[0].count);
        ids_below(all[row], bound);
        for (size_t i = 0; distinct && i < all[row].count; i++)
            for (size_t j = 0; j < i; j++) in_range(all[row].at[i] != all[row].at[j]);
    }
    return all;
}
static void out_densified(Integers codes, const bool *occupied, Json probes) {
    fits(probes.count == codes.count);
    Integers *asked = rows(probes, (int64_t)codes.count, false);
    Integers filled = {take(codes.count, sizeof(int64_t)), codes.count};
    int64_t failures = 0;
    for (size_t bin = 0; bin < codes.count; bin++) {
        size_t attempt = 0;
        while (!occupied[bin] && attempt < asked[bin].count && !occupied[asked[bin].at[attempt]]) attempt++;
        bool found = occupied[bin] || attempt < asked[bin].count;
        filled.at[bin] = occupied[bin] ? codes.at[bin] : found ? codes.at[asked[bin].at[attempt]] : 0;
        failures += !found;
    }
    out_integers("codes", filled);
    out_integer("failures", failures);
}
static void densify(Json inputs) {
    Integers codes = integers(member(inputs, "codes"));
    Json flags = member(inputs, "occupied");
    fits(flags.count == codes.count);
    bool *occupied = take(codes.count, sizeof(bool));
    for (size_t i = 0; i < codes.count; i++) {
        occupied[i] = flags.items[i].kind == 't';
        in_range(!occupied[i] || (codes.at[i] >= 0 && codes.at[i] < whole(inputs, "code_range")));
    }
    out_densified(codes, occupied, member(inputs, "probes"));
}
/* The sign of an exact sum of products: a sum of parts without common bits (Shewchuk 1997), products by fma. */
static int add_part(double *parts, int count, double term) {
    int left = 0;
    for (int i = 0; i < count; i++) {
        double sum = term + parts[i], back = sum - term, rest = (term - (sum - back)) + (parts[i] - back);
        if (rest != 0) parts[left++] = rest;
        term = sum;
    }
    parts[left] = term;
    return left + 1;
}
static void simhash_codes(Json inputs) {
    Vector x = vector(inputs);
    Json factors = member(inputs, "coefficients");
    Integers *places = rows(member(inputs, "coordinates"), x.dimension, false);
    fits(factors.count == member(inputs, "coordinates").count);
    Integers codes = {take(factors.count, sizeof(int64_t)), factors.count};
    for (size_t code = 0; code < codes.count; code++) {
        Reals row = reals(factors.items[code]);
        fits(row.count == places[code].count);
        double *parts = take(2 * row.count, sizeof(double)), largest = 0;
        int count = 0;
        for (size_t i = 0; i < row.count; i++) largest = fmax(largest, fabs(x.dense[places[code].at[i]] * row.at[i]));
        double scale = largest > 1e290 ? 0x1p-600 : 1;  /* so that no sum overflows */
        for (size_t i = 0; i < row.count; i++) {
            double value = x.dense[places[code].at[i]] * scale, product = value * row.at[i];
            count = add_part(parts, count, fma(value, row.at[i], -product));
            count = add_part(parts, count, product);
        }
        while (count > 1 && parts[count - 1] == 0) count--;
        codes.at[code] = count == 0 || parts[count - 1] >= 0;
    }
    out_integers("codes", codes);
}
/* The first largest member of a bin among those that compete, the length of the bin where nobody does. */
static size_t winner(Integers bin, const double *values, const bool *competes) {
    size_t best = bin.count;
    for (size_t i = 0; i < bin.count; i++)
        if (competes[bin.at[i]] && (best == bin.count || values[bin.at[i]] > values[bin.at[best]])) best = i;
    return best;
}
static void wta_codes(Json inputs) {
    Vector x = vector(inputs);
    Integers *bins = rows(member(inputs, "bins"), x.dimension, true);
    Integers codes = {take(member(inputs, "bins").count, sizeof(int64_t)), member(inputs, "bins").count};
    bool *everybody = take((size_t)x.dimension, sizeof(bool));
    memset(everybody, true, (size_t)x.dimension * sizeof(bool));
    for (size_t i = 0; i < codes.count; i++) codes.at[i] = (int64_t)winner(bins[i], x.dense, everybody);
    out_integers("codes", codes);
}
static void out_sparse_winners(Json inputs, int64_t dimension, const double *values, const bool *competes) {
    Json matrix = member(inputs, "bins");
    Integers *bins = rows(matrix, dimension, true), codes = {take(matrix.count, sizeof(int64_t)), matrix.count};
    bool *occupied = take(matrix.count, sizeof(bool));
    out("occupied");
    for (size_t i = 0; i < codes.count; i++) {
        size_t best = winner(bins[i], values, competes);
        occupied[i] = best < bins[i].count;
        codes.at[i] = occupied[i] ? (int64_t)best : 0;
        say("%s%s", i ? ", " : "[", occupied[i] ? "true" : "false");
    }
    say(codes.count ? "]" : "[]");
    out_densified(codes, occupied, member(inputs, "probes"));
}
static void dwta_codes(Json inputs) {
    Vector x = vector(inputs);
    bool *entry = take((size_t)x.dimension, sizeof(bool));
    for (int64_t i = 0; i < x.dimension; i++) entry[i] = x.dense[i] != 0;
    out_sparse_winners(inputs, x.dimension, x.dense, entry);
}

/* --- Keys ------------------------------------------------------------------------------------------------------- */
static bool below_power(int64_t base, size_t digits, int bits) {  /* base^digits <= 2^bits */
    uint64_t power = 1, limit = UINT64_C(1) << bits;
    for (size_t i = 0; i < digits; i++) { if (power > limit / (uint64_t)base) return false; power *= (uint64_t)base; }
    return power <= limit;
}
static uint64_t packed(const int64_t *codes, size_t count, int64_t base) {
    in_range(base >= 2 && below_power(base, count, 63));
    uint64_t key = 0;
    for (size_t i = 0; i < count; i++) {
        in_range(codes[i] >= 0 && codes[i] < base);
        key = key * (uint64_t)base + (uint64_t)codes[i];
    }
    return key;
}
static uint64_t folded(uint64_t key, uint64_t multiplier, int64_t bits) {
    in_range(multiplier % 2 == 1 && bits >= 1 && bits <= 32);
    return multiplier * key >> (64 - bits);
}
static void pack_key(Json inputs) {
    Integers codes = integers(member(inputs, "codes"));
    uint64_t key = packed(codes.at, codes.count, whole(inputs, "base"));
    out("key");
    say("\"%llu\"", (unsigned long long)key);
}
static void fold_key(Json inputs) {
    uint64_t multiplier = word(member(inputs, "multiplier"));
    out_integer("bucket", (int64_t)folded(word(member(inputs, "key")), multiplier, whole(inputs, "table_bits")));
}
static void bucket_keys(Json inputs) {
    Integers codes = integers(member(inputs, "codes"));
    Json multipliers = member(inputs, "multipliers");
    int64_t base = whole(inputs, "base"), bits = whole(inputs, "table_bits");
    size_t digits = (size_t)whole(inputs, "codes_per_table");
    fits(codes.count == digits * multipliers.count);
    Integers keys = {take(multipliers.count, sizeof(int64_t)), multipliers.count};
    for (size_t t = 0; t < keys.count; t++) {
        uint64_t key = packed(codes.at + t * digits, digits, base);
        uint64_t narrow = folded(key, word(multipliers.items[t]), bits);
        keys.at[t] = (int64_t)(below_power(base, digits, (int)bits) ? key : narrow);
    }
    out_integers("keys", keys);
}

/* --- Sampling: members of all buckets that are read, sorted, and every run of equal ones counted ----------------- */
static int ascending(const void *left, const void *right) {
    int64_t one = *(const int64_t *)left, other = *(const int64_t *)right;
    return (one > other) - (one < other);
}
static Integers at_least(Integers members, size_t minimum) {
    Integers found = {take(members.count, sizeof(int64_t)), 0};
    qsort(members.at, members.count, sizeof(int64_t), ascending);
    for (size_t start = 0, end; start < members.count; start = end) {
        for (end = start; end < members.count && members.at[end] == members.at[start];) end++;
        if (end - start >= minimum) found.at[found.count++] = members.at[start];
    }
    return found;
}
static Integers joined(Integers members, Json bucket) {
    Integers more = integers(bucket), all = {take(members.count + more.count, sizeof(int64_t)), 0};
    for (size_t i = 0; i < members.count; i++) all.at[all.count++] = members.at[i];
    for (size_t i = 0; i < more.count; i++) all.at[all.count++] = more.at[i];
    return all;
}
static Integers all_members(Json buckets) {
    Integers members = {take(0, 1), 0};
    for (size_t t = 0; t < buckets.count; t++) members = joined(members, buckets.items[t]);
    return members;
}
static void union_(Json inputs) { out_integers("active", at_least(all_members(member(inputs, "buckets")), 1)); }
static void hard_threshold(Json inputs) {
    Integers members = all_members(member(inputs, "buckets"));
    out_integers("active", at_least(members, (size_t)whole(inputs, "minimum_count")));
}
static void vanilla(Json inputs) {
    Json buckets = member(inputs, "buckets");
    Integers order = integers(member(inputs, "order")), members = {take(0, 1), 0};
    int64_t budget = whole(inputs, "budget");
    fits(order.count == buckets.count);
    ids_below(order, (int64_t)buckets.count);
    in_range(budget >= 0 && at_least(joined(members, member(inputs, "order")), 1).count == order.count);
    for (size_t t = 0; t < order.count && (int64_t)at_least(members, 1).count < budget; t++)
        members = joined(members, buckets.items[order.at[t]]);
    out_integers("active", at_least(members, 1));
}

/* --- Network ---------------------------------------------------------------------------------------------------- */
static void softmax(Json inputs) {
    Reals logits = reals(member(inputs, "logits"));
    double most = -INFINITY, total = 0;
    for (size_t i = 0; i < logits.count; i++) most = fmax(most, logits.at[i]);
    for (size_t i = 0; i < logits.count; i++) total += logits.at[i] = exp(logits.at[i] - most);
    for (size_t i = 0; i < logits.count; i++) logits.at[i] /= total;
    out_reals("probabilities", logits);
}

/* --- The protocol ----------------------------------------------------------------------------------------------- */
static const struct { const char *name; void (*run)(Json inputs); } OFFERED[] = {
    {"densify", densify}, {"simhash_codes", simhash_codes}, {"wta_codes", wta_codes},
    {"dwta_codes", dwta_codes}, {"pack_key", pack_key}, {"fold_key", fold_key}, {"bucket_keys", bucket_keys},
    {"union", union_}, {"vanilla", vanilla}, {"hard_threshold", hard_threshold}, {"softmax", softmax},
};
enum { OPERATIONS = sizeof OFFERED / sizeof *OFFERED };

static void say_start(void) {
    printf("{\"version\": 1, \"name\": \"harness in C\", \"language\": \"C11\", \"operations\": [");
    for (size_t i = 0; i < OPERATIONS; i++) printf("%s\"%s\"", i ? ", " : "", OFFERED[i].name);
    printf("]}\n");
}
static void answer_run(Json request) {
    printf("{\"id\": \"%s\", ", member(request, "id").text);
    answered = 0;
    if (setjmp(refused)) {
        printf("\"refused\": {\"class\": \"%s\", \"message\": \"\"}}\n", refusal);
        return;
    }
    for (size_t i = 0; i < OPERATIONS; i++)
        if (strcmp(OFFERED[i].name, member(request, "operation").text) == 0) OFFERED[i].run(member(request, "inputs"));
    printf("\"outputs\": {%s}}\n", answer);
}
int main(void) {
    char *line = NULL;
    size_t length = 0, size = 0;
    for (int letter; (letter = getchar()) != EOF;) {
        if (length + 2 > size && (line = realloc(line, size = 2 * size + 4096)) == NULL) return EXIT_FAILURE;
        line[length++] = (char)letter;
        if (letter != '\n') continue;
        line[length] = '\0', length = 0, at = line;
        Json request = read_value();
        const char *command = member(request, "command").text;
        if (strcmp(command, "stop") == 0) break;
        if (strcmp(command, "start") == 0) say_start(); else answer_run(request);
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
