/* SPDX-License-Identifier: Apache-2.0
 *
 * The demo and the bench have a Postgres, a bus and a configuration of their own: neither the
 * caller's environment nor a topology that runs beside (pr_home_adopt) may reach into them.
 */
#ifndef PR_CLI_ENVIRONMENT_H
#define PR_CLI_ENVIRONMENT_H

/* Unsets every POSTRIDER_... but POSTRIDER_HOME and POSTRIDER_STATE. */
void pr_environment_forget(void);

#endif
