// The service worker: it shows what the sidecar pushes, and opens what is tapped. Nothing
// is fetched and nothing is kept here.
"use strict";
addEventListener("push", (e) => {
  let told = {};
  try { told = e.data.json(); } catch { /* it says nothing that can be read */ }
  const risk = ["low", "medium", "high", "critical"].includes(told.risk) ? told.risk : "unknown";
  const request = /^[0-9a-z][0-9a-z-]{0,63}$/.test(told.request) ? told.request : "";
  e.waitUntil(registration.showNotification("Holdgate", { body: `A call of ${risk} risk waits for you.`, tag: request || "waiting", data: request }));
});
addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil(clients.openWindow(e.notification.data ? "/requests/" + e.notification.data : "/"));
});
