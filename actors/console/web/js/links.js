// SPDX-License-Identifier: Apache-2.0
// Where a thing has its page.
const part = encodeURIComponent;

export function orderLink(merchant_id, order_no) {
  return `#/orders/${part(merchant_id)}/${part(order_no)}`;
}

const OWN = {notification: "notifications", payment: "payments", task: "tasks", webhook: "webhooks", merchant: "merchants", channel: "channels", approval: "approvals"};

// {kind, id, merchant_id, order_no}: as the search and the timeline name things.
export function linkTo(item) {
  if (item.kind === "order") return orderLink(item.merchant_id, item.order_no);
  return OWN[item.kind] ? `#/${OWN[item.kind]}/${part(item.id)}` : "#/";
}
