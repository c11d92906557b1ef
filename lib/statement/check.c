/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a description of a format can work. By itself, so that who only reads profiles is not
 * linked with the parsers and their libraries.
 */
#include "base/alloc.h"
#include "statement/statement_private.h"

#include <string.h>

static pr_rc_t bad_map(pr_error_t *error, const char *what)
{
    return pr_error_set(error, PR_BAD, "statement", "", "csv: %s", what);
}

void pr_mapped_columns(const pr_statement_csv_t *csv,
                       const pr_statement_column_t *out[PR_MAPPED_COLUMNS])
{
    /* in the order of mapped.c */
    const pr_statement_column_t *columns[PR_MAPPED_COLUMNS] = {&csv->kind,
                                                               &csv->state,
                                                               &csv->reference,
                                                               &csv->request_no,
                                                               &csv->refund_reference,
                                                               &csv->refund_no,
                                                               &csv->currency,
                                                               &csv->amount,
                                                               &csv->credit,
                                                               &csv->debit,
                                                               &csv->fee,
                                                               &csv->occurred_at};
    memcpy(out, columns, sizeof columns);
}

static bool is_by_place(const pr_statement_column_t *column)
{
    for (size_t i = 0; i < column->count; i++) {
        const char *name = column->names[i];
        size_t digits = name[0] == '#' ? strspn(name + 1, "0123456789") : 0;
        if (digits == 0 || digits > 3 || name[digits + 1] != '\0' || name[1] == '0')
            return false;
    }
    return true;
}

static pr_rc_t check_map(const pr_statement_csv_t *csv, pr_error_t *error)
{
    const pr_statement_column_t *all[PR_MAPPED_COLUMNS];
    pr_mapped_columns(csv, all);
    bool two = csv->credit.count > 0 && csv->debit.count > 0;
    if ((csv->amount.count > 0) == two || (csv->credit.count > 0) != (csv->debit.count > 0))
        return bad_map(error, "amount, or credit and debit, are wanted");
    if (csv->reference.count == 0 && csv->request_no.count == 0)
        return bad_map(error, "reference or request_no is wanted");
    if ((csv->kinds.count > 0) != (csv->kind.count > 0))
        return bad_map(error, "kind (a column) and kinds (its words) go together");
    if ((csv->states.count > 0) != (csv->state.count > 0))
        return bad_map(error, "state (a column) and states (its words) go together");
    if (csv->decimal && csv->decimal != '.' && csv->decimal != ',')
        return bad_map(error, "decimal: . or , is wanted");
    for (size_t i = 0; csv->no_header && i < PR_COUNT(all); i++)
        if (!is_by_place(all[i]))
            return bad_map(error, "without a header columns are named by place: \"#3\"");
    return PR_OK;
}

pr_rc_t pr_statement_check(const pr_statement_spec_t *spec, pr_error_t *error)
{
    if (spec->format <= PR_STATEMENT_FORMAT_NONE || spec->format >= PR_STATEMENT_FORMATS)
        return pr_error_set(error, PR_BAD, "statement", "", "no such format");
    return spec->format == PR_STATEMENT_CSV ? check_map(&spec->csv, error) : PR_OK;
}
