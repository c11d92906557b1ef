/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints docs/states.md from the tables that decide: the state machines of lib/core as Mermaid
 * diagrams and as rows. tests/contract/states/run compares it with the committed page.
 */
#include "core/breaker.h"
#include "core/fsm.h"

#include <stdio.h>

static bool print_machine(const pr_fsm_t *fsm, const char *title, const char *source)
{
    pr_buffer_t diagram;
    pr_buffer_init(&diagram, 16384);
    if (pr_fsm_diagram(fsm, &diagram) != PR_OK)
        return false;
    printf("\n## %s\n`%s`\n\n```mermaid\n%s```\n\n", title, source, pr_buffer_text(&diagram));
    pr_buffer_free(&diagram);
    printf("| from | event | to | why |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < fsm->row_count; i++) {
        const pr_fsm_row_t *row = &fsm->rows[i];
        printf("| %s | %s | %s | %s |\n", fsm->states[row->from], fsm->events[row->event],
               row->from == row->to ? "stays" : fsm->states[row->to], row->sentence);
    }
    return true;
}

int main(void)
{
    printf(
        "# States\n\n"
        "<!-- Generated from the tables in lib/core by `tests/contract/states/run --write`. Do not"
        " edit. -->\n\n"
        "A pair of state and event without a row moves nothing. `tests/unit/lib/core/test_fsm.c` "
        "walks every pair of\nstates and allows exactly the moves that are drawn here.\n");
    bool ok = print_machine(&pr_fsm_delivery, "Delivery: one notification at one endpoint",
                            "lib/core/fsm.c, pr_fsm_delivery") &&
              print_machine(&pr_fsm_job, "Job", "lib/core/fsm.c, pr_fsm_job") &&
              print_machine(&pr_fsm_breaker, "Breaker of an endpoint",
                            "lib/core/breaker.c, pr_fsm_breaker");
    return ok ? 0 : 1;
}
