/* SPDX-License-Identifier: Apache-2.0
 *
 * May a kept connection be used again? HTTP/1.1 matches answers to requests by their order alone,
 * so an answer that nobody asked for would be taken for the next request's, which may be another
 * merchant's. Whatever came while a connection was idle, its end included, spoils it (RFC 9112,
 * 9.3); libcurl looks for the end only. Asked at the last moment, when libcurl has chosen the
 * connection and before the first byte goes out: what comes after that cannot be told apart.
 *
 * HTTP/2 names the request in each frame, and may have something to say at any time: not spoiled.
 * In TLS 1.3 the session tickets come before the first answer; later input is as bad as without.
 */
#include "http/http_internal.h"

#include <openssl/ssl.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Of the connection that the request is about to go out on; NULL: no TLS. */
static SSL *tls_session(CURL *easy)
{
    struct curl_tlssessioninfo *info = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || info == NULL)
        return NULL;
    return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}

static bool is_http2(const SSL *tls)
{
    const unsigned char *name = NULL;
    unsigned int len = 0;
    SSL_get0_alpn_selected(tls, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

/* The port is at the same place in IPv4's address, which is the shorter one. */
static int local_port_of(int fd)
{
    struct sockaddr_in6 address = {0};
    socklen_t len = sizeof(address);
    return getsockname(fd, (struct sockaddr *)&address, &len) == 0 ? ntohs(address.sin6_port) : 0;
}

static bool has_input(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
           (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* The transfer made this connection itself: remembers it for those that come after. */
static bool is_new(const transfer_t *transfer, int local_port)
{
    for (int i = 0; i < transfer->sockets_opened && i < OPENED_MAX; i++) {
        int fd = transfer->opened[i];
        descriptor_t *descriptor = descriptor_get(transfer->http, fd);
        if (descriptor->host == NULL || descriptor->local_port != 0 ||
            local_port_of(fd) != local_port)
            continue;
        descriptor->local_port = local_port;
        return true;
    }
    return false;
}

/* libcurl does not tell the descriptor before the transfer is over, only the addresses. Two
 * connections to different peers may share a local port; then the input of one spoils the other
 * too, which costs a connection and no more. */
bool idle_is_spoiled(const transfer_t *transfer, int local_port)
{
    const pr_http_t *http = transfer->http;
    if (is_new(transfer, local_port))
        return false;
    const SSL *tls = tls_session(transfer->easy);
    if (tls != NULL && is_http2(tls))
        return false;
    if (tls != NULL && SSL_pending(tls) > 0)
        return true;
    bool known = false;
    for (int fd = 0; fd < http->descriptor_count; fd++) {
        if (http->descriptors[fd].host == NULL || http->descriptors[fd].local_port != local_port)
            continue;
        known = true;
        if (has_input(fd))
            return true;
    }
    return !known && transfer->sockets_opened == 0;
}
