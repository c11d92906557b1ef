/* SPDX-License-Identifier: Apache-2.0
 *
 * ISO 20022 camt.053 (BankToCustomerStatement), whatever its version and namespace prefix, by
 * libxml2's push parser as events: nothing is kept but the entry in work. A document type
 * declaration is refused as soon as it begins, so there are no entities but the five of XML
 * itself, none from outside, and nothing is fetched.
 *
 * An entry (Ntry) is one transaction, or a batch with a TxDtls for each. Amounts are positive,
 * CdtDbtInd says which way; RvslInd turns what an entry is, not its way: a debit that reverses a
 * credit is money that went back. Totals: TxsSummry, and the balances: opening and entries make
 * closing.
 */
#include "base/alloc.h"
#include "statement/statement_private.h"

#include <inttypes.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <stdio.h>
#include <string.h>

#define VALUE_MAX 512             /* of one element's text */
#define DEPTH_KEPT 40             /* names of open elements */
#define SILENT_BYTES (256 * 1024) /* pushed without one event: a text or a tag that never ends */
#define PIECE_BYTES ((size_t)8 * 1024)
#define RAW_MAX 2048
#define CURRENCY_SIZE 8 /* three letters; longer ones are none */

typedef enum { WAY_NONE = 0, WAY_IN, WAY_OUT } way_t;

/* What may stand at the entry and at each of its transactions; the nearer one is stronger. */
typedef struct {
    char amount[32], currency[CURRENCY_SIZE];
    way_t way;
    char reference[VALUE_MAX], end_to_end[VALUE_MAX], instruction[VALUE_MAX];
    char creditor_ref[VALUE_MAX], transaction[VALUE_MAX];
} details_t;

typedef struct {
    bool known;
    int64_t minor;
} balance_t;

struct pr_camt_t {
    xmlParserCtxtPtr parser;
    uint8_t head[4]; /* libxml2 would guess the encoding by them */
    size_t head_len;
    pr_statement_reader_t *statement;
    pr_rc_t rc; /* what a callback ended with */
    uint64_t silent;
    size_t depth;
    uint8_t path[DEPTH_KEPT]; /* what the open elements are, as element_t */
    char text[VALUE_MAX];
    size_t text_len;
    bool too_long;

    char account_currency[CURRENCY_SIZE];
    bool in_entry, in_transaction, reversal, is_fee, flawed;
    char state[16], booked[48], valued[48], code[64];
    details_t entry, transaction;
    uint64_t transactions;
    int64_t transactions_sum;
    char balance_kind[16], balance_amount[32];
    way_t balance_way;
    balance_t opening, closing;
    int64_t booked_sum; /* credits less debits */
    char raw[RAW_MAX];
    size_t raw_len;
};

/* The elements that count, by name; a name has one meaning only where its parents are right. */
typedef enum {
    E_OTHER = 0,
    E_DOCUMENT,
    E_STATEMENT_MESSAGE, /* BkToCstmrStmt */
    E_STATEMENT,         /* Stmt */
    E_ACCOUNT,
    E_ACCOUNT_ID,
    E_IBAN,
    E_OTHR,
    E_ID,
    E_CURRENCY,
    E_BALANCE,
    E_TYPE,
    E_CODE_OR,
    E_CODE,
    E_SUMMARY,
    E_TOTAL_ENTRIES,
    E_TOTAL_CREDITS,
    E_TOTAL_DEBITS,
    E_COUNT,
    E_SUM,
    E_ENTRY,
    E_AMOUNT,
    E_WAY,
    E_REVERSAL,
    E_STATE,
    E_BOOKED,
    E_VALUED,
    E_DATE,
    E_DATE_TIME,
    E_BANK_CODE,
    E_DOMAIN,
    E_FAMILY,
    E_SUBFAMILY,
    E_DETAILS,
    E_TRANSACTION,
    E_REFERENCES,
    E_SERVICER_REF,
    E_END_TO_END,
    E_INSTRUCTION,
    E_TRANSACTION_ID,
    E_AMOUNT_DETAILS,
    E_TRANSACTION_AMOUNT,
    E_REMITTANCE,
    E_STRUCTURED,
    E_CREDITOR_REF_INFO,
    E_REF,
    E_PROPRIETARY,
} element_t;

static const struct {
    const char *name;
    element_t element;
} elements[] = {
    {"Document", E_DOCUMENT},
    {"BkToCstmrStmt", E_STATEMENT_MESSAGE},
    {"Stmt", E_STATEMENT},
    {"Acct", E_ACCOUNT},
    {"Id", E_ID},
    {"IBAN", E_IBAN},
    {"Othr", E_OTHR},
    {"Ccy", E_CURRENCY},
    {"Bal", E_BALANCE},
    {"Tp", E_TYPE},
    {"CdOrPrtry", E_CODE_OR},
    {"Cd", E_CODE},
    {"TxsSummry", E_SUMMARY},
    {"TtlNtries", E_TOTAL_ENTRIES},
    {"TtlCdtNtries", E_TOTAL_CREDITS},
    {"TtlDbtNtries", E_TOTAL_DEBITS},
    {"NbOfNtries", E_COUNT},
    {"Sum", E_SUM},
    {"Ntry", E_ENTRY},
    {"Amt", E_AMOUNT},
    {"CdtDbtInd", E_WAY},
    {"RvslInd", E_REVERSAL},
    {"Sts", E_STATE},
    {"BookgDt", E_BOOKED},
    {"ValDt", E_VALUED},
    {"Dt", E_DATE},
    {"DtTm", E_DATE_TIME},
    {"BkTxCd", E_BANK_CODE},
    {"Domn", E_DOMAIN},
    {"Fmly", E_FAMILY},
    {"SubFmlyCd", E_SUBFAMILY},
    {"NtryDtls", E_DETAILS},
    {"TxDtls", E_TRANSACTION},
    {"Refs", E_REFERENCES},
    {"AcctSvcrRef", E_SERVICER_REF},
    {"EndToEndId", E_END_TO_END},
    {"InstrId", E_INSTRUCTION},
    {"TxId", E_TRANSACTION_ID},
    {"AmtDtls", E_AMOUNT_DETAILS},
    {"TxAmt", E_TRANSACTION_AMOUNT},
    {"RmtInf", E_REMITTANCE},
    {"Strd", E_STRUCTURED},
    {"CdtrRefInf", E_CREDITOR_REF_INFO},
    {"Ref", E_REF},
    {"Prtry", E_PROPRIETARY},
};

static element_t element_named(const xmlChar *name)
{
    for (size_t i = 0; i < PR_COUNT(elements); i++)
        if (strcmp(elements[i].name, (const char *)name) == 0)
            return elements[i].element;
    return E_OTHER;
}

/* ---- stopping ---- */

static void stop(pr_camt_t *self, pr_rc_t rc)
{
    if (self->rc == PR_OK)
        self->rc = rc;
    xmlStopParser(self->parser);
}

#define STOP(code, ...) stop(self, pr_refuse(self->statement, code, __VA_ARGS__))

/* ---- where we are ---- */

/* The open elements end with these (innermost last). */
static bool is_at(const pr_camt_t *self, size_t count, const element_t *path)
{
    if (self->depth < count || self->depth > DEPTH_KEPT)
        return false;
    for (size_t i = 0; i < count; i++)
        if (self->path[self->depth - count + i] != (uint8_t)path[i])
            return false;
    return true;
}

#define AT(...) \
    is_at(self, sizeof((element_t[]){__VA_ARGS__}) / sizeof(element_t), (element_t[]){__VA_ARGS__})

static bool copy(pr_camt_t *self, char *out, size_t size)
{
    if (self->too_long || self->text_len >= size) {
        self->flawed = true;
        return false;
    }
    memcpy(out, self->text, self->text_len + 1);
    return true;
}

#define TAKE(field) (void)copy(self, field, sizeof(field))

/* ---- totals ---- */

static bool amount_of(const pr_camt_t *self, const char *text, const char *currency, int64_t *minor)
{
    char known[4];
    const pr_statement_spec_t *spec = self->statement->spec;
    return pr_value_currency(spec, currency, known) &&
           !pr_value_amount(spec, text, PR_MONEY_UNIT_MAJOR, '.', known, minor);
}

static void said_count(pr_camt_t *self, const char *name)
{
    int64_t value = 0;
    if (self->text_len == 0 || self->text_len > 15 ||
        strspn(self->text, "0123456789") != self->text_len)
        return; /* says nothing that could be proved */
    for (const char *at = self->text; *at; at++)
        value = value * 10 + (*at - '0');
    pr_claim_said_count(self->statement, name, value);
}

static void said_sum(pr_camt_t *self, const char *name)
{
    int64_t minor;
    if (amount_of(self, self->text, self->account_currency, &minor))
        pr_claim_said(self->statement, name, minor);
}

static void take_summary(pr_camt_t *self)
{
    if (AT(E_SUMMARY, E_TOTAL_ENTRIES, E_COUNT))
        said_count(self, "entries");
    else if (AT(E_SUMMARY, E_TOTAL_CREDITS, E_COUNT))
        said_count(self, "credits");
    else if (AT(E_SUMMARY, E_TOTAL_DEBITS, E_COUNT))
        said_count(self, "debits");
    else if (AT(E_SUMMARY, E_TOTAL_CREDITS, E_SUM))
        said_sum(self, "sum of credits");
    else if (AT(E_SUMMARY, E_TOTAL_DEBITS, E_SUM))
        said_sum(self, "sum of debits");
}

static void end_balance(pr_camt_t *self)
{
    int64_t minor;
    balance_t *opening = &self->opening, *closing = &self->closing;
    bool is_opening =
        strcmp(self->balance_kind, "OPBD") == 0 || strcmp(self->balance_kind, "PRCD") == 0;
    bool is_closing = strcmp(self->balance_kind, "CLBD") == 0;
    balance_t *balance = is_opening ? opening : is_closing ? closing : NULL;
    if (balance && !balance->known &&
        amount_of(self, self->balance_amount, self->account_currency, &minor)) {
        balance->minor = self->balance_way == WAY_OUT ? -minor : minor;
        balance->known = true;
    }
    self->balance_kind[0] = self->balance_amount[0] = '\0';
}

/* Opening and what was booked make closing. */
static void end_statement(pr_camt_t *self)
{
    static const char claim[] = "closing balance";
    if (self->opening.known && self->closing.known) {
        pr_claim_add(self->statement, claim, self->opening.minor);
        pr_claim_add(self->statement, claim, self->booked_sum);
        pr_claim_said(self->statement, claim, self->closing.minor);
    }
    self->opening = self->closing = (balance_t){0};
    self->booked_sum = 0;
    self->account_currency[0] = '\0';
}

/* ---- entries ---- */

static void begin_entry(pr_camt_t *self)
{
    self->in_entry = true;
    self->in_transaction = self->reversal = self->is_fee = self->flawed = false;
    self->state[0] = self->booked[0] = self->valued[0] = self->code[0] = '\0';
    self->entry = self->transaction = (details_t){0};
    self->transactions = 0;
    self->transactions_sum = 0;
    self->raw_len = 0;
}

static pr_statement_state_t state_of(const char *text)
{
    return strcmp(text, "BOOK") == 0   ? PR_STATEMENT_SUCCEEDED
           : strcmp(text, "PDNG") == 0 ? PR_STATEMENT_PENDING
                                       : PR_STATEMENT_UNKNOWN; /* INFO, FUTR */
}

static const char *nearer(const char *transaction, const char *entry)
{
    return transaction[0] ? transaction : entry;
}

static const char *provided(const char *text)
{
    return strcmp(text, "NOTPROVIDED") == 0 ? "" : text;
}

static bool is_cost(const char *code)
{
    return strstr(code, "CHRG") || strstr(code, "FEES") || strstr(code, "COMM") ||
           strstr(code, "INTR");
}

static void set_kind(const pr_camt_t *self, way_t way, const char *number,
                     pr_statement_record_t *record)
{
    if (is_cost(self->code))
        record->kind = PR_STATEMENT_FEE;
    else if (way == WAY_IN)
        record->kind = self->reversal ? PR_STATEMENT_OTHER : PR_STATEMENT_PAYMENT;
    else /* a reversed credit, or a transfer that carries a number of ours */
        record->kind = self->reversal || number[0] ? PR_STATEMENT_REFUND : PR_STATEMENT_OTHER;
}

static void set_numbers(const pr_camt_t *self, pr_statement_record_t *record)
{
    const details_t *entry = &self->entry, *own = &self->transaction;
    const char *end_to_end = provided(nearer(own->end_to_end, entry->end_to_end));
    const char *instruction = provided(nearer(own->instruction, entry->instruction));
    const char *ours = nearer(own->creditor_ref, entry->creditor_ref);
    const char *bank = nearer(nearer(own->reference, own->transaction), entry->reference);
    bool refund = record->kind == PR_STATEMENT_REFUND;
    if (refund && !self->reversal) {
        record->refund_reference = bank;
        record->refund_no = end_to_end[0] ? end_to_end : instruction;
        record->request_no = ours;
        return;
    }
    record->request_no = ours[0] ? ours : end_to_end[0] ? end_to_end : instruction;
    *(refund ? &record->refund_reference : &record->reference) = bank;
}

static bool set_time(const pr_camt_t *self, int64_t *us)
{
    const char *text = self->booked[0] ? self->booked : self->valued;
    return pr_value_time(text, self->statement->spec->zone_min, us) && *us >= 0;
}

static pr_rc_t emit_transaction(pr_camt_t *self)
{
    pr_statement_reader_t *statement = self->statement;
    pr_statement_record_t record;
    int64_t minor;
    const details_t *entry = &self->entry, *own = &self->transaction;
    way_t way = own->way ? own->way : entry->way;
    statement->raw = pr_bytes(self->raw, self->raw_len);
    pr_record_init(statement, &record);
    if (self->flawed)
        return pr_emit_bad(statement, "too_long", "a value");
    if (way == WAY_NONE)
        return pr_emit_bad(statement, "kind", "CdtDbtInd is wanted");
    const char *currency = own->amount[0] ? own->currency : entry->currency;
    if (!pr_value_currency(statement->spec, currency, record.currency))
        return pr_emit_bad(statement, "currency", "Amt/@Ccy");
    if (!amount_of(self, own->amount[0] ? own->amount : entry->amount, currency, &minor) ||
        minor < 0)
        return pr_emit_bad(statement, "amount", "Amt");
    if (!set_time(self, &record.occurred_us))
        return pr_emit_bad(statement, "time", "BookgDt or ValDt is wanted");
    const char *number = provided(nearer(own->end_to_end, entry->end_to_end));
    set_kind(self, way, number, &record);
    set_numbers(self, &record);
    record.state = state_of(self->state);
    record.native = self->state;
    bool turned = record.kind == PR_STATEMENT_FEE
                      ? way == WAY_IN
                      : record.kind == PR_STATEMENT_OTHER && way == WAY_OUT;
    record.amount_minor = turned ? -minor : minor;
    self->transactions_sum += own->way && own->way != entry->way ? -minor : minor;
    return pr_emit(statement, &record);
}

static void end_transaction(pr_camt_t *self)
{
    pr_rc_t rc = emit_transaction(self);
    self->transactions++;
    self->transaction = (details_t){0};
    self->in_transaction = self->flawed = false;
    if (rc != PR_OK)
        stop(self, rc);
}

/* Sums of what is booked: the entry's own amount, of which its transactions are parts. */
static void add_entry(pr_camt_t *self, int64_t minor)
{
    bool in = self->entry.way == WAY_IN;
    pr_claim_add(self->statement, "entries", 1);
    pr_claim_add(self->statement, in ? "credits" : "debits", 1);
    pr_claim_add(self->statement, in ? "sum of credits" : "sum of debits", minor);
    if (strcmp(self->state, "BOOK") == 0)
        self->booked_sum += in ? minor : -minor;
}

static void end_entry(pr_camt_t *self)
{
    int64_t minor;
    pr_rc_t rc = PR_OK;
    self->in_entry = false;
    if (amount_of(self, self->entry.amount, self->entry.currency, &minor) && minor >= 0 &&
        self->entry.way != WAY_NONE) {
        add_entry(self, minor);
        /* one transaction may be in another currency than the account (an instructed amount) */
        if (self->transactions > 1 && self->transactions_sum != minor) {
            self->statement->raw = pr_bytes(self->raw, self->raw_len);
            rc = pr_emit_bad(self->statement, "sum", "the transactions are not the entry's amount");
        }
    }
    if (self->transactions == 0)
        rc = emit_transaction(self);
    if (rc != PR_OK)
        stop(self, rc);
}

/* ---- values ---- */

static way_t way_of(const char *text)
{
    return strcmp(text, "CRDT") == 0 ? WAY_IN : strcmp(text, "DBIT") == 0 ? WAY_OUT : WAY_NONE;
}

static void add_code(pr_camt_t *self)
{
    size_t len = strlen(self->code);
    (void)snprintf(self->code + len, sizeof self->code - len, "%s ", self->text);
}

static void take_account(pr_camt_t *self)
{
    char *account = self->statement->totals.account;
    if (AT(E_ACCOUNT, E_CURRENCY))
        TAKE(self->account_currency);
    else if ((AT(E_ACCOUNT, E_ID, E_IBAN) || AT(E_ACCOUNT, E_ID, E_OTHR, E_ID)) && !account[0])
        (void)copy(self, account, sizeof self->statement->totals.account);
}

static void take_balance(pr_camt_t *self)
{
    if (AT(E_BALANCE, E_TYPE, E_CODE_OR, E_CODE))
        TAKE(self->balance_kind);
    else if (AT(E_BALANCE, E_AMOUNT))
        TAKE(self->balance_amount);
    else if (AT(E_BALANCE, E_WAY))
        self->balance_way = way_of(self->text);
}

/* What stands at the entry and at its transactions alike. */
static void take_details(pr_camt_t *self, details_t *details)
{
    if (AT(E_REFERENCES, E_SERVICER_REF) || AT(E_ENTRY, E_SERVICER_REF))
        TAKE(details->reference);
    else if (AT(E_REFERENCES, E_END_TO_END))
        TAKE(details->end_to_end);
    else if (AT(E_REFERENCES, E_INSTRUCTION))
        TAKE(details->instruction);
    else if (AT(E_REFERENCES, E_TRANSACTION_ID))
        TAKE(details->transaction);
    else if (AT(E_STRUCTURED, E_CREDITOR_REF_INFO, E_REF))
        TAKE(details->creditor_ref);
    else if (AT(E_ENTRY, E_AMOUNT) || AT(E_TRANSACTION, E_AMOUNT) ||
             (AT(E_TRANSACTION, E_AMOUNT_DETAILS, E_TRANSACTION_AMOUNT, E_AMOUNT) &&
              !details->amount[0]))
        TAKE(details->amount);
    else if (AT(E_ENTRY, E_WAY) || AT(E_TRANSACTION, E_WAY))
        details->way = way_of(self->text);
}

static void take_entry(pr_camt_t *self)
{
    if (AT(E_ENTRY, E_STATE) || AT(E_ENTRY, E_STATE, E_CODE)) {
        if (self->text_len > 0)
            TAKE(self->state);
    } else if (AT(E_ENTRY, E_REVERSAL)) {
        self->reversal = strcmp(self->text, "true") == 0 || strcmp(self->text, "1") == 0;
    } else if (AT(E_ENTRY, E_BOOKED, E_DATE) || AT(E_ENTRY, E_BOOKED, E_DATE_TIME)) {
        TAKE(self->booked);
    } else if (AT(E_ENTRY, E_VALUED, E_DATE) || AT(E_ENTRY, E_VALUED, E_DATE_TIME)) {
        TAKE(self->valued);
    } else if (AT(E_ENTRY, E_BANK_CODE, E_DOMAIN, E_CODE) ||
               AT(E_ENTRY, E_BANK_CODE, E_DOMAIN, E_FAMILY, E_CODE) ||
               AT(E_ENTRY, E_BANK_CODE, E_DOMAIN, E_FAMILY, E_SUBFAMILY) ||
               AT(E_ENTRY, E_BANK_CODE, E_PROPRIETARY, E_CODE)) {
        add_code(self);
    } else {
        take_details(self, self->in_transaction ? &self->transaction : &self->entry);
    }
}

/* "Ntry/Amt=12.00" and so on: what is shown of an entry. */
static void add_raw(pr_camt_t *self, const char *name)
{
    if (self->text_len == 0)
        return;
    size_t room = sizeof self->raw - self->raw_len;
    int len = snprintf(self->raw + self->raw_len, room, "%s%s=%s", self->raw_len ? " " : "", name,
                       self->text);
    if (len > 0 && (size_t)len < room)
        self->raw_len += (size_t)len;
}

/* Amt/@Ccy. Attributes come in fives: name, prefix, namespace, value, end of the value. */
static void take_currency(pr_camt_t *self, int count, const xmlChar **list)
{
    details_t *details = self->in_transaction ? &self->transaction : &self->entry;
    char *to =
        AT(E_ENTRY, E_AMOUNT) || AT(E_TRANSACTION, E_AMOUNT) || AT(E_TRANSACTION_AMOUNT, E_AMOUNT)
            ? details->currency
        : AT(E_STATEMENT, E_BALANCE, E_AMOUNT) && !self->account_currency[0]
            ? self->account_currency
            : NULL;
    for (int i = 0; to && i < count; i++) {
        const xmlChar **attribute = list + (size_t)i * 5;
        size_t len = (size_t)(attribute[4] - attribute[3]);
        if (strcmp((const char *)attribute[0], "Ccy") == 0 && len < CURRENCY_SIZE)
            (void)snprintf(to, CURRENCY_SIZE, "%.*s", (int)len, (const char *)attribute[3]);
    }
}

/* ---- events ---- */

static void on_start(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int namespaces, const xmlChar **namespace_list, int attributes, int defaulted,
                     const xmlChar **list)
{
    pr_camt_t *self = ctx;
    (void)prefix, (void)uri, (void)namespaces, (void)namespace_list, (void)defaulted;
    self->silent = 0;
    element_t element = element_named(name);
    if (self->depth == 0 && element != E_DOCUMENT) {
        STOP("header", "the root is not Document");
        return;
    }
    if (self->depth == 1 && element != E_STATEMENT_MESSAGE) {
        STOP("header", "no BkToCstmrStmt: not camt.053");
        return;
    }
    if (self->depth >= self->statement->limits.depth_max || self->depth >= DEPTH_KEPT) {
        STOP("depth", "more than %" PRIu32 " levels", self->statement->limits.depth_max);
        return;
    }
    self->path[self->depth++] = (uint8_t)element;
    self->text_len = 0;
    self->text[0] = '\0';
    self->too_long = false;
    if (AT(E_STATEMENT, E_ENTRY))
        begin_entry(self);
    if (self->in_entry && AT(E_DETAILS, E_TRANSACTION))
        self->in_transaction = true;
    if (element == E_AMOUNT)
        take_currency(self, attributes, list);
}

static void on_end(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    pr_camt_t *self = ctx;
    (void)prefix, (void)uri;
    self->silent = 0;
    self->statement->line = (uint64_t)xmlSAX2GetLineNumber(self->parser);
    char *text = pr_text_trim(self->text, self->text_len);
    self->text_len = strlen(text);
    memmove(self->text, text, self->text_len + 1);
    if (self->in_entry) {
        add_raw(self, (const char *)name);
        take_entry(self);
        if (AT(E_DETAILS, E_TRANSACTION))
            end_transaction(self);
        else if (AT(E_STATEMENT, E_ENTRY))
            end_entry(self);
    } else if (AT(E_STATEMENT_MESSAGE, E_STATEMENT)) {
        end_statement(self);
    } else if (AT(E_STATEMENT, E_BALANCE)) {
        end_balance(self);
    } else {
        take_account(self);
        take_balance(self);
        take_summary(self);
    }
    self->depth--;
    self->text_len = 0;
    self->text[0] = '\0';
}

static void on_text(void *ctx, const xmlChar *text, int len)
{
    pr_camt_t *self = ctx;
    self->silent = 0;
    for (int i = 0; i < len; i++) {
        char c = (char)text[i];
        if (c == '\n' || c == '\r')
            c = ' ';
        if (self->text_len == 0 && (c == ' ' || c == '\t'))
            continue;
        if (self->text_len + 1 == sizeof self->text) {
            self->too_long = true;
            return;
        }
        self->text[self->text_len++] = c;
    }
    self->text[self->text_len] = '\0';
}

static void on_doctype(void *ctx, const xmlChar *name, const xmlChar *external,
                       const xmlChar *system_id)
{
    pr_camt_t *self = ctx;
    (void)name, (void)external, (void)system_id;
    STOP("doctype", "a document type declaration is refused");
}

static void on_problem(void *ctx, xmlErrorPtr problem)
{
    (void)ctx, (void)problem; /* the parser's state says it; nothing goes to stderr */
}

/* ---- life ---- */

pr_camt_t *pr_camt_new(void)
{
    return PR_NEW(pr_camt_t);
}

static void close_parser(pr_camt_t *self)
{
    if (!self->parser)
        return;
    xmlFreeDoc(self->parser->myDoc);
    self->parser->myDoc = NULL;
    xmlFreeParserCtxt(self->parser);
    self->parser = NULL;
}

void pr_camt_destroy(pr_camt_t **self_ptr)
{
    pr_camt_t *self = *self_ptr;
    if (!self)
        return;
    close_parser(self);
    pr_free(self);
    *self_ptr = NULL;
}

pr_rc_t pr_camt_open(pr_statement_reader_t *statement)
{
    pr_camt_t *self = statement->camt;
    xmlSAXHandler events = {.initialized = XML_SAX2_MAGIC,
                            .startElementNs = on_start,
                            .endElementNs = on_end,
                            .characters = on_text,
                            .cdataBlock = on_text,
                            .internalSubset = on_doctype,
                            .serror = on_problem};
    close_parser(self);
    *self = (pr_camt_t){.statement = statement};
    self->parser = xmlCreatePushParserCtxt(&events, self, NULL, 0, NULL);
    if (!self->parser)
        return pr_refuse(statement, "xml", "libxml2 does not start");
    (void)xmlCtxtUseOptions(self->parser,
                            XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    return PR_OK;
}

/* Warnings, and what concerns names of namespaces only: after all else the parser may have stopped in silence. */
static bool harmless(int code)
{
    return code == XML_ERR_OK || code == XML_WAR_SPACE_VALUE || code == XML_WAR_NS_URI ||
           code == XML_WAR_NS_URI_RELATIVE || code == XML_WAR_NS_COLUMN ||
           (code >= XML_NS_ERR_XML_NAMESPACE && code <= XML_NS_ERR_COLON);
}

static pr_rc_t outcome(pr_camt_t *self, int code)
{
    if (self->rc != PR_OK)
        return self->rc;
    return harmless(code) && self->parser->wellFormed
               ? PR_OK
               : pr_refuse(self->statement, "xml", "not well-formed (libxml2 error %d)", code);
}

static pr_rc_t parse(pr_camt_t *self, pr_bytes_t bytes)
{
    pr_statement_reader_t *statement = self->statement;
    pr_rc_t rc = PR_OK;
    for (size_t at = 0; rc == PR_OK && at < bytes.len;) {
        size_t len = bytes.len - at < PIECE_BYTES ? bytes.len - at : PIECE_BYTES;
        self->silent += len;
        rc = outcome(self, xmlParseChunk(self->parser, (const char *)bytes.data + at, (int)len, 0));
        if (rc == PR_OK && self->silent > SILENT_BYTES)
            rc = pr_refuse(statement, "xml", "a tag or a comment without an end");
        at += len;
    }
    return rc;
}

/* ISO 20022 is UTF-8. What begins like UTF-16 or UTF-32 would be read as such as far as a piece goes. */
static pr_rc_t parse_head(pr_camt_t *self)
{
    bool wide = self->head_len >= 2 && ((self->head[0] == 0xfe && self->head[1] == 0xff) ||
                                        (self->head[0] == 0xff && self->head[1] == 0xfe));
    if (wide || memchr(self->head, '\0', self->head_len))
        return pr_refuse(self->statement, "xml", "not UTF-8, as camt.053 is");
    return parse(self, pr_bytes(self->head, self->head_len));
}

pr_rc_t pr_camt_push(pr_statement_reader_t *statement, pr_bytes_t bytes)
{
    pr_camt_t *self = statement->camt;
    size_t taken = 0;
    if (self->head_len < sizeof self->head) {
        while (self->head_len < sizeof self->head && taken < bytes.len)
            self->head[self->head_len++] = ((const uint8_t *)bytes.data)[taken++];
        if (self->head_len < sizeof self->head)
            return PR_OK;
        pr_rc_t rc = parse_head(self);
        if (rc != PR_OK)
            return rc;
    }
    return parse(self, pr_bytes((const uint8_t *)bytes.data + taken, bytes.len - taken));
}

pr_rc_t pr_camt_close(pr_statement_reader_t *statement)
{
    pr_camt_t *self = statement->camt;
    if (self->head_len < sizeof self->head) {
        pr_rc_t rc = parse_head(self);
        if (rc != PR_OK) {
            close_parser(self);
            return rc;
        }
    }
    int code = xmlParseChunk(self->parser, NULL, 0, 1);
    bool cut = self->depth > 0 || code == XML_ERR_DOCUMENT_END || code == XML_ERR_DOCUMENT_EMPTY;
    pr_rc_t rc = self->rc == PR_OK && cut
                     ? pr_refuse(statement, "truncated", "the XML stops in the middle")
                     : outcome(self, code);
    close_parser(self);
    return rc;
}
