/* SPDX-License-Identifier: Apache-2.0
 *
 * The priority classes of N6: 0 = P0 (large amounts, VIPs), 1 = P1 (normal), 2 = P2 (small).
 */
#ifndef PR_CORE_CLASSES_H
#define PR_CORE_CLASSES_H

#define PR_CLASSES 3

#endif
