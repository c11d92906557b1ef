/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/headers.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(headers, .timeout = 300);

Test(headers, only_what_does_no_harm_goes_out)
{
    static const struct {
        const char *sentence, *name, *value;
        bool allowed;
    } cases[] = {
        {"a header of the endpoint's own", "X-Shop-Id", "42", true},
        {"authorization is the endpoint's business", "Authorization", "Bearer abc", true},
        {"an empty value is sent empty", "X-Empty", "", true},
        {"bytes above ASCII pass", "X-Name", "\xe5\xba\x97", true},
        {"a tab inside a value", "X-Tab", "a\tb", true},
        {"a name that only begins like ours", "X-Timestamped", "1", true},
        {"Host", "Host", "evil", false},
        {"host in capitals", "HOST", "evil", false},
        {"Content-Length", "Content-Length", "1", false},
        {"Content-Type", "content-type", "text/plain", false},
        {"Content-Encoding", "Content-Encoding", "gzip", false},
        {"Transfer-Encoding", "Transfer-Encoding", "chunked", false},
        {"Connection", "Connection", "close", false},
        {"Keep-Alive", "Keep-Alive", "1", false},
        {"TE", "TE", "trailers", false},
        {"Trailer", "Trailer", "X", false},
        {"Upgrade", "Upgrade", "h2c", false},
        {"Expect", "Expect", "100-continue", false},
        {"anything of the proxy's", "Proxy-Authorization", "Basic x", false},
        {"HTTP2-Settings", "HTTP2-Settings", "x", false},
        {"Accept-Encoding would bring compressed answers", "Accept-Encoding", "gzip", false},
        {"User-Agent", "User-Agent", "evil", false},
        {"X-Signature", "X-Signature", "evil", false},
        {"X-Signature-Next", "x-signature-next", "evil", false},
        {"X-Sign-Next", "X-Sign-Next", "evil", false},
        {"X-Timestamp", "X-Timestamp", "0", false},
        {"X-Notify-ID", "X-Notify-ID", "evil", false},
        {"all of webhook-", "Webhook-Anything", "evil", false},
        {"X_Notify_ID is X-Notify-ID to many a receiver", "X_Notify_ID", "evil", false},
        {"webhook_signature, too", "webhook_signature", "v1,AAAA", false},
        {"HOST in capitals", "HOST", "evil", false},
        {"but not what only begins like Host", "Hostess", "x", true},
        {"no name", "", "x", false},
        {"a space in a name", "X Y", "x", false},
        {"a colon in a name", "X:Y", "x", false},
        {"a line break in a name", "X\nY", "x", false},
        {"a line break in a value", "X-A", "b\r\nX-Signature: evil", false},
        {"a bare carriage return", "X-A", "b\rc", false},
        {"a control byte", "X-A", "\x01", false},
        {"DEL", "X-A", "\x7f", false},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++)
        cr_expect_eq(pr_header_allowed(cases[i].name, cases[i].value), cases[i].allowed, "%s",
                     cases[i].sentence);
}

Test(headers, what_is_too_long_is_refused)
{
    char text[PR_HEADER_VALUE_MAX_BYTES + 2];
    memset(text, 'x', sizeof(text));
    text[PR_HEADER_VALUE_MAX_BYTES] = '\0';
    cr_expect(pr_header_allowed("X-A", text));
    cr_expect_not(pr_header_allowed(text, "y"));
    text[PR_HEADER_VALUE_MAX_BYTES] = 'x';
    text[PR_HEADER_VALUE_MAX_BYTES + 1] = '\0';
    cr_expect_not(pr_header_allowed("X-A", text));
    text[PR_HEADER_NAME_MAX_BYTES + 1] = '\0';
    cr_expect_not(pr_header_allowed(text, "y"));
    text[PR_HEADER_NAME_MAX_BYTES] = '\0';
    cr_expect(pr_header_allowed(text, "y"));
}
