/* SPDX-License-Identifier: Apache-2.0
 *
 * What went wrong, in our words: libcurl's codes to pr_http_error_t, and its table of names,
 * blame and the judge's words. Names are stored with each attempt and never change; where core/judge.h has a word for it,
 * it is that word.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "http/http_internal.h"

#include <openssl/x509_vfy.h>

#include <string.h>

typedef struct {
    const char *name;
    pr_http_fault_t fault;
    pr_transport_t transport;
} error_row_t;

#define THEIRS PR_HTTP_FAULT_RECEIVER
#define OURS PR_HTTP_FAULT_OWN

static const error_row_t error_rows[PR_HTTP_ERROR_COUNT] = {
    [PR_HTTP_OK] = {"", PR_HTTP_FAULT_NONE, PR_TRANSPORT_OK},
    [PR_HTTP_DNS] = {"dns", THEIRS, PR_TRANSPORT_DNS},
    [PR_HTTP_DNS_TIMEOUT] = {"dns_timeout", THEIRS, PR_TRANSPORT_DNS},
    [PR_HTTP_CONNECT] = {"connect", THEIRS, PR_TRANSPORT_CONNECT},
    [PR_HTTP_CONNECT_TIMEOUT] = {"connect_timeout", THEIRS, PR_TRANSPORT_CONNECT_TIMEOUT},
    [PR_HTTP_TLS] = {"tls", THEIRS, PR_TRANSPORT_TLS},
    [PR_HTTP_TLS_TIMEOUT] = {"tls_timeout", THEIRS, PR_TRANSPORT_TLS_TIMEOUT},
    [PR_HTTP_TLS_EXPIRED] = {"tls_expired", THEIRS, PR_TRANSPORT_TLS},
    [PR_HTTP_TLS_SELF_SIGNED] = {"tls_self_signed", THEIRS, PR_TRANSPORT_TLS},
    [PR_HTTP_TLS_UNTRUSTED] = {"tls_untrusted", THEIRS, PR_TRANSPORT_TLS},
    [PR_HTTP_TLS_WRONG_HOST] = {"tls_wrong_host", THEIRS, PR_TRANSPORT_TLS},
    [PR_HTTP_FIRST_BYTE_TIMEOUT] = {"first_byte_timeout", THEIRS, PR_TRANSPORT_FIRST_BYTE_TIMEOUT},
    [PR_HTTP_TOTAL_TIMEOUT] = {"total_timeout", THEIRS, PR_TRANSPORT_TOTAL_TIMEOUT},
    [PR_HTTP_SEND] = {"reset", THEIRS, PR_TRANSPORT_RESET},
    [PR_HTTP_RECEIVE] = {"reset", THEIRS, PR_TRANSPORT_RESET},
    [PR_HTTP_EMPTY] = {"empty_response", THEIRS, PR_TRANSPORT_RESET},
    [PR_HTTP_SHORT_BODY] = {"short_body", THEIRS, PR_TRANSPORT_RESET},
    [PR_HTTP_BAD_RESPONSE] = {"protocol", THEIRS, PR_TRANSPORT_PROTOCOL},
    [PR_HTTP_HEADERS_TOO_LARGE] = {"headers_too_large", THEIRS, PR_TRANSPORT_PROTOCOL},
    [PR_HTTP_HTTP2] = {"protocol_http2", THEIRS, PR_TRANSPORT_PROTOCOL},
    [PR_HTTP_PROXY] = {"proxy", OURS, PR_TRANSPORT_PROXY},
    [PR_HTTP_ADDRESS_REFUSED] = {"forbidden_address", OURS, PR_TRANSPORT_FORBIDDEN_ADDRESS},
    [PR_HTTP_BAD_URL] = {"bad_url", OURS, PR_TRANSPORT_BAD_CONFIG},
    [PR_HTTP_BAD_CA] = {"bad_tls_ca", OURS, PR_TRANSPORT_BAD_CONFIG},
    [PR_HTTP_OWN_FAULT] = {"own_fault", OURS, PR_TRANSPORT_BAD_CONFIG},
};

const char *pr_http_error_name(pr_http_error_t error)
{
    pr_assert(error >= 0 && error < PR_HTTP_ERROR_COUNT);
    return error_rows[error].name;
}

pr_http_fault_t pr_http_error_fault(pr_http_error_t error)
{
    pr_assert(error >= 0 && error < PR_HTTP_ERROR_COUNT);
    return error_rows[error].fault;
}

pr_transport_t pr_http_transport(const pr_http_response_t *response)
{
    pr_assert(response->error >= 0 && response->error < PR_HTTP_ERROR_COUNT);
    return response->error == PR_HTTP_OK && response->truncated
               ? PR_TRANSPORT_TOO_LARGE
               : error_rows[response->error].transport;
}

static const struct {
    CURLcode code;
    pr_http_error_t error;
} code_rows[] = {
    {CURLE_OK, PR_HTTP_OK},
    {CURLE_COULDNT_RESOLVE_HOST, PR_HTTP_DNS},
    {CURLE_COULDNT_RESOLVE_PROXY, PR_HTTP_PROXY},
    {CURLE_PROXY, PR_HTTP_PROXY},
    {CURLE_COULDNT_CONNECT, PR_HTTP_CONNECT},
    {CURLE_SSL_CONNECT_ERROR, PR_HTTP_TLS},
    {CURLE_SSL_CIPHER, PR_HTTP_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, PR_HTTP_TLS_UNTRUSTED},
    {CURLE_SSL_CACERT_BADFILE, PR_HTTP_BAD_CA},
    {CURLE_SEND_ERROR, PR_HTTP_SEND},
    {CURLE_RECV_ERROR, PR_HTTP_RECEIVE},
    {CURLE_GOT_NOTHING, PR_HTTP_EMPTY},
    {CURLE_PARTIAL_FILE, PR_HTTP_SHORT_BODY},
    {CURLE_WEIRD_SERVER_REPLY, PR_HTTP_BAD_RESPONSE},
    {CURLE_BAD_CONTENT_ENCODING, PR_HTTP_BAD_RESPONSE},
    {CURLE_OUT_OF_MEMORY, PR_HTTP_HEADERS_TOO_LARGE}, /* its word for one huge line, too */
    {CURLE_FILESIZE_EXCEEDED, PR_HTTP_BAD_RESPONSE},
    {CURLE_HTTP2, PR_HTTP_HTTP2},
    {CURLE_HTTP2_STREAM, PR_HTTP_HTTP2},
    {CURLE_URL_MALFORMAT, PR_HTTP_BAD_URL},
    {CURLE_LOGIN_DENIED, PR_HTTP_BAD_URL},
    {CURLE_INTERFACE_FAILED, PR_HTTP_PROXY},
};

/* OpenSSL knows why a chain was refused; the host name is compared by libcurl itself, so a good
 * chain that was refused means the wrong name. */
static pr_http_error_t verify_error(long verify)
{
    switch (verify) {
    case X509_V_OK:
    case X509_V_ERR_UNSPECIFIED: /* what libcurl starts from */
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return PR_HTTP_TLS_WRONG_HOST;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return PR_HTTP_TLS_EXPIRED;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return PR_HTTP_TLS_SELF_SIGNED;
    default:
        return PR_HTTP_TLS_UNTRUSTED;
    }
}

/* Which of the three waits had run out before the connection was usable. */
pr_http_error_t transfer_connect_timeout(const transfer_t *transfer)
{
    curl_off_t looked_up = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_NAMELOOKUP_TIME_T, &looked_up);
    if (transfer->phase == PHASE_TLS)
        return PR_HTTP_TLS_TIMEOUT;
    if (transfer->proxied)
        return PR_HTTP_PROXY;
    return looked_up > 0 || transfer->sockets_opened > 0 ? PR_HTTP_CONNECT_TIMEOUT
                                                         : PR_HTTP_DNS_TIMEOUT;
}

static pr_http_error_t from_timeout(const transfer_t *transfer)
{
    return transfer->phase == PHASE_CONNECT || transfer->phase == PHASE_TLS
               ? transfer_connect_timeout(transfer)
               : PR_HTTP_TOTAL_TIMEOUT;
}

/* Who broke a connection through a proxy? Before the request went out, or when the proxy itself is
 * the HTTP server we speak to (plain http), it was the proxy: for a broken receiver it would answer
 * 502. Inside a tunnel it was the receiver. */
static bool is_broken(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
           code == CURLE_GOT_NOTHING;
}

/* libcurl lets pass what was closed inside its headers, and status lines without a status. */
static bool is_final(const transfer_t *transfer)
{
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return transfer->headers_whole && status >= 200;
}

pr_http_error_t transfer_error(const transfer_t *transfer, CURLcode code, long verify)
{
    if (transfer->headers_too_large)
        return PR_HTTP_HEADERS_TOO_LARGE;
    if (transfer->headers_bad)
        return PR_HTTP_BAD_RESPONSE;
    if (code == CURLE_OK && !is_final(transfer))
        return PR_HTTP_BAD_RESPONSE;
    if (code == CURLE_WRITE_ERROR && transfer->truncated)
        return PR_HTTP_OK; /* we broke it off ourselves, with all that we wanted to read */
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return verify_error(verify);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return from_timeout(transfer);
    if (code == CURLE_COULDNT_CONNECT && transfer->addresses_refused > 0 &&
        transfer->sockets_opened == 0)
        return PR_HTTP_ADDRESS_REFUSED;
    if (transfer->proxied && is_broken(code) &&
        (transfer->sends == 0 || strncmp(transfer->host->key, "http://", 7) == 0))
        return PR_HTTP_PROXY;
    /* "Unsupported protocol" is libcurl's word for HTTP/0.9 and garbage where a status line was
     * due, and for a URL that is neither http nor https. */
    if (code == CURLE_UNSUPPORTED_PROTOCOL)
        return transfer->sends > 0 ? PR_HTTP_BAD_RESPONSE : PR_HTTP_BAD_URL;
    /* During the handshake a reset comes as a plain receive error. */
    if ((code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR) && transfer->sends == 0)
        return PR_HTTP_TLS;
    for (size_t i = 0; i < PR_COUNT(code_rows); i++) {
        if (code_rows[i].code == code)
            return code_rows[i].error;
    }
    /* Once the request is out, whatever else libcurl objects to is the answer. */
    return transfer->sends > 0 ? PR_HTTP_BAD_RESPONSE : PR_HTTP_OWN_FAULT;
}
