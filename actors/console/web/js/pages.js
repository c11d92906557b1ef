// SPDX-License-Identifier: Apache-2.0
// The pages: {path: first part of the address, title, menu: word in the menu or null, role: least role that sees it,
// show({main, parts, query, signal, keep, reload})}. One module each.
import {approvals} from "./pages/approvals.js";
import {audit} from "./pages/audit.js";
import {channels} from "./pages/channels.js";
import {deadLetters} from "./pages/dead_letters.js";
import {exceptions} from "./pages/exceptions.js";
import {merchants} from "./pages/merchants.js";
import {notifications} from "./pages/notifications.js";
import {account, operators} from "./pages/operators.js";
import {orders} from "./pages/orders.js";
import {overview} from "./pages/overview.js";
import {payments} from "./pages/payments.js";
import {recon} from "./pages/recon.js";
import {search} from "./pages/search.js";
import {tasks} from "./pages/tasks.js";
import {webhooks} from "./pages/webhooks.js";

export const PAGES = [overview, exceptions, approvals, search, orders, notifications, deadLetters, payments, webhooks, tasks, recon, channels, merchants, audit, operators, account];
