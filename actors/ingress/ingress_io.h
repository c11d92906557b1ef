/* SPDX-License-Identifier: Apache-2.0
 *
 * ingress, the public door: gateways' webhooks, the payment API, merchants' questions. HTTP on one
 * side (lib/httpd), the doors in SQL on the other, as postrider_ingress. It holds no truth: what it
 * keeps (channels, keys of the last second, certificates, who has been refused lately) is read or
 * counted again after a restart.
 */
#ifndef PR_INGRESS_IO_H
#define PR_INGRESS_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_ingress_spec;

#endif
