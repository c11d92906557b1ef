/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider-notifier: tells merchants, once a job. See README.md.
 */
#include "notifier_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_notifier_spec, argc, argv);
}
