/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gateway_script.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "core/money.h"

#include <string.h>

#define ARGUMENTS_MAX 3

/* One clause in its parts: WORD[:ARGUMENT]... */
typedef struct {
    char text[2 * PR_GATE_WORD_MAX];
    const char *word, *arguments[ARGUMENTS_MAX];
    size_t count;
} clause_t;

static const struct {
    const char *usage, *help;
} rows[] = {
    {"pay[:T]", "the payer pays, after T"},
    {"fail:CODE[:T]", "refused: insufficient_funds, risk_refused, or the gateway's own code"},
    {"unpaid", "nobody pays until it is closed"},
    {"pending", "under way for ever, cannot be closed"},
    {"anyway", "with pay:T: pays even though it was closed meanwhile"},
    {"captured:N", "only N minor units are taken"},
    {"amount:N  currency:C  account:A", "what the gateway says of the payment, though untrue"},
    {"hidden:T", "queries find nothing for so long"},
    {"hook:T", "webhooks leave T late"},
    {"lost  repeat:N  once", "no webhook; each N times; not repeated when refused"},
    {"reorder", "an event waits until the next one has been delivered"},
    {"forge  probe  gbk", "a forged success first; a signature probe first; in GBK (alipay)"},
    {"refund:T", "refunds take so long"},
    {"refund-fail:CODE[:T]", "refunds fail (ABNORMAL: wechat-v3's special case)"},
    {"refund-pending  refund-reverse:T", "never end; succeed and are undone T later"},
    {"OP:FAULT[*N]", "for the first N calls (1; bare * = all). OP: charge capture query refund"},
    {"", "query-refund close token any. FAULT: hang reset drop garbage slow:T 429[:RETRY-AFTER]"},
    {"", "500 maintenance 401 NNN (a proxy's page). FAULT! = the effect took place all the same"},
    {"OP:timeout", "hang!: it was done, the answer never comes"},
};

bool pr_gate_script_describe(size_t i, const char **usage, const char **help)
{
    if (i >= PR_COUNT(rows)) {
        return false;
    }
    *usage = rows[i].usage;
    *help = rows[i].help;
    return true;
}

static const char *const operation_names[PR_GATE_OPERATIONS] = {
    "token",        "charge", "capture",   "query",          "refund",
    "query-refund", "close",  "statement", "statement-file",
};

const char *pr_gate_operation_name(pr_gate_operation_t operation)
{
    return operation_names[operation];
}

void pr_gate_script_init(pr_gate_script_t *self)
{
    *self = (pr_gate_script_t){
        .payment.ms = -1, .refund.ms = -1, .captured = -1, .said_minor = -1, .hook_copies = 1};
}

static bool split(const char *text, size_t len, clause_t *out)
{
    if (len >= sizeof(out->text)) {
        return false;
    }
    *out = (clause_t){.word = out->text};
    memcpy(out->text, text, len);
    out->text[len] = '\0';
    for (char *at = out->text; *at; at++) {
        if (*at != ':') {
            continue;
        }
        if (out->count == ARGUMENTS_MAX) {
            return false;
        }
        *at = '\0';
        out->arguments[out->count++] = at + 1;
    }
    return true;
}

static bool duration(const clause_t *self, size_t i, int64_t *ms)
{
    return i < self->count && pr_duration_parse(self->arguments[i], strlen(self->arguments[i]), ms);
}

/* Absent is fine. */
static bool maybe_duration(const clause_t *self, size_t i, int64_t *ms)
{
    return i >= self->count || duration(self, i, ms);
}

static bool number(const char *text, int64_t max, int64_t *out)
{
    int64_t value = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || value > max / 10) {
            return false;
        }
        value = value * 10 + (*at - '0');
    }
    *out = value;
    return *text && value <= max;
}

static bool word(const clause_t *self, char *out, size_t size)
{
    size_t len = self->count > 0 ? strlen(self->arguments[0]) : 0;
    if (len == 0 || len >= size) {
        return false;
    }
    memcpy(out, self->arguments[0], len + 1);
    return true;
}

/* ---- clauses: each has the whole clause to itself ---- */

static bool set_pay(const clause_t *self, pr_gate_script_t *out)
{
    out->payment.end = PR_GATE_END_PAY;
    return maybe_duration(self, 0, &out->payment.ms);
}

static bool set_fail(const clause_t *self, pr_gate_script_t *out)
{
    out->payment.end = PR_GATE_END_FAIL;
    return word(self, out->payment.code, sizeof(out->payment.code)) &&
           maybe_duration(self, 1, &out->payment.ms);
}

static bool set_unpaid(const clause_t *self, pr_gate_script_t *out)
{
    out->payment.end = PR_GATE_END_UNPAID;
    return self->count == 0;
}

static bool set_pending(const clause_t *self, pr_gate_script_t *out)
{
    out->payment.end = PR_GATE_END_PENDING;
    return self->count == 0;
}

static bool set_anyway(const clause_t *self, pr_gate_script_t *out)
{
    out->anyway = true;
    return self->count == 0;
}

static bool set_captured(const clause_t *self, pr_gate_script_t *out)
{
    return self->count == 1 && number(self->arguments[0], PR_MONEY_MINOR_MAX, &out->captured);
}

static bool set_amount(const clause_t *self, pr_gate_script_t *out)
{
    return self->count == 1 && number(self->arguments[0], PR_MONEY_MINOR_MAX, &out->said_minor);
}

static bool set_currency(const clause_t *self, pr_gate_script_t *out)
{
    return word(self, out->said_currency, sizeof(out->said_currency)) &&
           pr_money_is_currency(out->said_currency);
}

static bool set_account(const clause_t *self, pr_gate_script_t *out)
{
    return word(self, out->said_account, sizeof(out->said_account));
}

static bool set_hidden(const clause_t *self, pr_gate_script_t *out)
{
    return duration(self, 0, &out->hidden_ms);
}

static bool set_hook(const clause_t *self, pr_gate_script_t *out)
{
    return duration(self, 0, &out->hook_ms);
}

static bool set_lost(const clause_t *self, pr_gate_script_t *out)
{
    out->hook_copies = 0;
    return self->count == 0;
}

static bool set_repeat(const clause_t *self, pr_gate_script_t *out)
{
    int64_t copies = 0;
    if (self->count != 1 || !number(self->arguments[0], 100, &copies)) {
        return false;
    }
    out->hook_copies = (uint32_t)copies;
    return true;
}

static bool set_once(const clause_t *self, pr_gate_script_t *out)
{
    out->hook_once = true;
    return self->count == 0;
}

static bool set_reorder(const clause_t *self, pr_gate_script_t *out)
{
    out->hook_reorder = true;
    return self->count == 0;
}

static bool set_forge(const clause_t *self, pr_gate_script_t *out)
{
    out->hook_forge = true;
    return self->count == 0;
}

static bool set_probe(const clause_t *self, pr_gate_script_t *out)
{
    out->hook_probe = true;
    return self->count == 0;
}

static bool set_gbk(const clause_t *self, pr_gate_script_t *out)
{
    out->hook_gbk = true;
    return self->count == 0;
}

static bool set_refund_fail(const clause_t *self, pr_gate_script_t *out)
{
    out->refund.end = PR_GATE_END_FAIL;
    return word(self, out->refund.code, sizeof(out->refund.code)) &&
           maybe_duration(self, 1, &out->refund.ms);
}

static bool set_refund_pending(const clause_t *self, pr_gate_script_t *out)
{
    out->refund.end = PR_GATE_END_PENDING;
    return self->count == 0;
}

static bool set_refund_reverse(const clause_t *self, pr_gate_script_t *out)
{
    out->refund.end = PR_GATE_END_REVERSE;
    return duration(self, 0, &out->refund.ms);
}

static const struct {
    const char *word;
    bool (*set)(const clause_t *, pr_gate_script_t *);
} clauses[] = {
    {"pay", set_pay},
    {"fail", set_fail},
    {"unpaid", set_unpaid},
    {"pending", set_pending},
    {"anyway", set_anyway},
    {"captured", set_captured},
    {"amount", set_amount},
    {"currency", set_currency},
    {"account", set_account},
    {"hidden", set_hidden},
    {"hook", set_hook},
    {"lost", set_lost},
    {"repeat", set_repeat},
    {"once", set_once},
    {"reorder", set_reorder},
    {"forge", set_forge},
    {"probe", set_probe},
    {"gbk", set_gbk},
    {"refund-fail", set_refund_fail},
    {"refund-pending", set_refund_pending},
    {"refund-reverse", set_refund_reverse},
};

/* ---- faults ---- */

static uint32_t operations_named(const char *text)
{
    if (strcmp(text, "any") == 0) {
        return (1U << PR_GATE_OPERATIONS) - 1;
    }
    for (unsigned i = 0; i < PR_GATE_OPERATIONS; i++) {
        if (strcmp(text, operation_names[i]) == 0) {
            return 1U << i;
        }
    }
    return 0;
}

static const struct {
    const char *word;
    pr_gate_fault_kind_t kind;
    bool effect;
} fault_words[] = {
    {"hang", PR_GATE_FAULT_HANG, false},       {"timeout", PR_GATE_FAULT_HANG, true},
    {"reset", PR_GATE_FAULT_RESET, false},     {"drop", PR_GATE_FAULT_DROP, false},
    {"garbage", PR_GATE_FAULT_GARBAGE, false}, {"slow", PR_GATE_FAULT_SLOW, true},
    {"429", PR_GATE_FAULT_THROTTLED, false},   {"500", PR_GATE_FAULT_ERROR, false},
    {"401", PR_GATE_FAULT_CREDENTIAL, false},  {"maintenance", PR_GATE_FAULT_MAINTENANCE, false},
};

static bool fault_word(const char *text, pr_gate_fault_t *out)
{
    for (size_t i = 0; i < PR_COUNT(fault_words); i++) {
        if (strcmp(text, fault_words[i].word) == 0) {
            out->kind = fault_words[i].kind;
            out->effect = out->effect || fault_words[i].effect;
            return true;
        }
    }
    int64_t status = 0;
    if (!number(text, 599, &status) || status < 200) {
        return false;
    }
    out->kind = PR_GATE_FAULT_STATUS;
    out->status = (int)status;
    return true;
}

/* Takes `!` and `*N` off the clause's end. */
static bool take_suffixes(char *text, pr_gate_fault_t *out)
{
    char *star = strrchr(text, '*');
    int64_t times = 1;
    if (star) {
        *star = '\0';
        if (star[1] == '\0') {
            times = 0;
        } else if (!number(star + 1, 1000000, &times) || times == 0) {
            return false;
        }
    }
    size_t len = strlen(text);
    if (len > 0 && text[len - 1] == '!') {
        text[len - 1] = '\0';
        out->effect = true;
    }
    out->times = (uint32_t)times;
    return true;
}

static bool add_fault(const char *text, size_t len, pr_gate_script_t *out)
{
    char copy[2 * PR_GATE_WORD_MAX];
    clause_t clause;
    pr_gate_fault_t fault = {.ms = -1};
    if (len >= sizeof(copy) || out->fault_count == PR_GATE_FAULTS_MAX) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (!take_suffixes(copy, &fault) || !split(copy, strlen(copy), &clause) || clause.count == 0) {
        return false;
    }
    fault.operations = operations_named(clause.word);
    if (fault.operations == 0 || !fault_word(clause.arguments[0], &fault) ||
        !maybe_duration(&clause, 1, &fault.ms) ||
        (fault.kind == PR_GATE_FAULT_SLOW && fault.ms < 0)) {
        return false;
    }
    out->faults[out->fault_count++] = fault;
    return true;
}

static bool take_clause(const char *text, size_t len, pr_gate_script_t *out)
{
    clause_t clause;
    if (!split(text, len, &clause)) {
        return false;
    }
    for (size_t i = 0; i < PR_COUNT(clauses); i++) {
        if (strcmp(clause.word, clauses[i].word) == 0) {
            return clauses[i].set(&clause, out);
        }
    }
    /* `refund:5s` is a course, `refund:hang` a fault */
    if (strcmp(clause.word, "refund") == 0 && clause.count == 1 &&
        duration(&clause, 0, &out->refund.ms)) {
        return true;
    }
    return add_fault(text, len, out);
}

pr_rc_t pr_gate_script_parse(const char *text, size_t len, pr_gate_script_t *out, pr_error_t *error)
{
    pr_gate_script_t made;
    pr_gate_script_init(&made);
    const char *end = text + len;
    while (text < end) {
        const char *next = memchr(text, '~', (size_t)(end - text));
        next = next ? next : end;
        if (next > text && !take_clause(text, (size_t)(next - text), &made)) {
            return pr_error_set(error, PR_BAD, "sandbox", "", "'%.*s' is not a clause; see --help",
                                (int)(next - text < 80 ? next - text : 80), text);
        }
        text = next + 1;
    }
    *out = made;
    return PR_OK;
}

/* ---- mixes ---- */

/* One alternative from *at on; its weight, and where the next begins (NULL: it was the last). */
static uint32_t take_alternative(const char *at, const char **text, size_t *len, const char **next)
{
    const char *end = strchr(at, '|');
    *next = end ? end + 1 : NULL;
    *text = at;
    *len = end ? (size_t)(end - at) : strlen(at);
    const char *mark = memchr(at, '%', *len);
    if (!mark) {
        return 1;
    }
    uint32_t weight = 0;
    for (; at < mark && *at >= '0' && *at <= '9' && weight < 1000000; at++) {
        weight = weight * 10 + (uint32_t)(*at - '0');
    }
    *len -= (size_t)(mark + 1 - *text);
    *text = mark + 1;
    return weight;
}

void pr_gate_script_draw(const char *mix, uint64_t draw, const char **text, size_t *len)
{
    uint64_t total = 0, sum = 0;
    for (const char *at = mix; at;) {
        total += take_alternative(at, text, len, &at);
    }
    uint64_t wanted = total > 0 ? draw % total : 0;
    for (const char *at = mix; at;) {
        sum += take_alternative(at, text, len, &at);
        if (sum > wanted) {
            return;
        }
    }
}
