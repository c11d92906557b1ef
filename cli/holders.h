/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has a file open, found in /proc: the processes of a topology that lost their supervisors
 * (killed by a person or by the kernel) still hold its lock.
 */
#ifndef PR_CLI_HOLDERS_H
#define PR_CLI_HOLDERS_H

/* Sends signal_no to every other process that has this very file open, as far as this user may
 * see and signal them. Returns how many got it. */
int pr_holders_signal(const char *path, int signal_no);
/* The same for a file that was removed under its users (rm -rf of a state directory): those that
 * had it open as path. signal_no 0 only counts. */
int pr_holders_signal_lost(const char *path, int signal_no);

#endif
