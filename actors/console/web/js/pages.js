// SPDX-License-Identifier: Apache-2.0
// The pages: {path: first part of the address, title, menu: word in the menu or null, role: least role that sees it,
// show({main, parts, query, signal, keep, reload})}. One module each.
import {approvals} from "./pages/approvals.js";
import {exceptions} from "./pages/exceptions.js";
import {overview} from "./pages/overview.js";

export const PAGES = [overview, exceptions, approvals];
