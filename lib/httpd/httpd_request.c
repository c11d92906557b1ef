/* SPDX-License-Identifier: Apache-2.0
 *
 * One request: from libmicrohttpd's callbacks to the owner's two steps, and back to a reply.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "httpd/forwarded.h"
#include "httpd/framing.h"
#include "httpd/httpd_private.h"
#include "httpd/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM_MAX_BYTES 2048
#define DROP_MAX_BYTES ((size_t)256 * 1024)

httpd_connection_t *httpd_connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void httpd_request_free(pr_httpd_request_t *self)
{
    if (!self)
        return;
    self->connection->request = NULL;
    self->owner->stats.body_bytes -= self->charged;
    if (self->response)
        MHD_destroy_response(self->response);
    pr_buffer_free(&self->body);
    pr_free(self->method);
    pr_free(self->target);
    pr_free(self);
}

/* ---- reading the head ---- */

/* The request line has been read: the target before libmicrohttpd takes it apart. */
void *httpd_on_target(void *arg, const char *target, struct MHD_Connection *mhd)
{
    pr_httpd_t *owner = arg;
    httpd_connection_t *connection = httpd_connection_of(mhd);
    httpd_request_free(connection->request);
    pr_httpd_request_t *self = PR_NEW(pr_httpd_request_t);
    self->owner = owner;
    self->connection = connection;
    self->mhd = mhd;
    self->target = pr_strdup(target);
    self->target_at = target;
    self->path_len = strcspn(self->target, "?");
    self->max_body = owner->options.max_body_bytes;
    pr_buffer_init(&self->body, self->max_body);
    connection->request = self;
    return self;
}

static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                   size_t name_len, const char *value, size_t value_len)
{
    (void)kind;
    pr_httpd_request_t *self = arg;
    const char *text = value ? value : "";
    if (self->header_count == PR_HTTPD_HEADERS_MAX || strlen(name) != name_len ||
        strlen(text) != value_len) {
        self->headers_bad = true;
        return MHD_NO;
    }
    self->headers[self->header_count++] = (pr_header_t){name, text};
    return MHD_YES;
}

static bool head_too_large(const pr_httpd_request_t *self)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(self->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return self->header_count == PR_HTTPD_HEADERS_MAX ||
           (info && info->header_size > self->owner->options.max_header_bytes);
}

/* Whether a NUL stands in the target: then the request line goes on behind the target's end. The
 * version behind it belongs to the same line where libmicrohttpd keeps heads as they came. */
static bool target_cut(const pr_httpd_request_t *self, const char *version)
{
    uintptr_t end = (uintptr_t)self->target_at + strlen(self->target) + 1;
    uintptr_t behind = (uintptr_t)version;
    return behind > end && behind - end < self->owner->options.max_header_bytes;
}

static void refuse(pr_httpd_request_t *self, uint32_t status, const char *code, const char *detail)
{
    pr_httpd_reply_problem(self, status, code, detail, status == 503 ? 1 : 0);
}

/* True: there is a reply already. */
static bool judge_head(pr_httpd_request_t *self, const char *version)
{
    MHD_get_connection_values_n(self->mhd, MHD_HEADER_KIND, take_header, self);
    pr_framing_t framing = pr_framing_check(&(pr_framing_head_t){
        self->method, self->target, version, self->headers, self->header_count});
    self->client = self->connection->trusted
                       ? pr_forwarded_client(&self->connection->peer, self->owner->options.trusted,
                                             self->headers, self->header_count)
                       : self->connection->peer;
    self->has_body = framing.status != 0 || framing.chunked || framing.length > 0;
    if (head_too_large(self))
        refuse(self, 431, "head_too_large", "The request's head is larger than this server reads.");
    else if (strlen(self->target) > PR_HTTPD_TARGET_MAX)
        refuse(self, 414, "target_too_long", "Path and query are longer than this server reads.");
    else if (self->headers_bad)
        refuse(self, 400, "bad_header", "A header field is malformed.");
    else if (target_cut(self, version))
        refuse(self, 400, "bad_target", "The request's target is malformed.");
    else if (framing.status != 0)
        refuse(self, framing.status, framing.code, "The request's head is malformed.");
    else if (framing.has_length && framing.length > self->owner->options.max_body_bytes)
        refuse(self, 413, "body_too_large", "The body is larger than this server takes.");
    else if (self->owner->draining)
        refuse(self, 503, "stopping", "This server is stopping: send the request again.");
    return self->response != NULL;
}

static void read_head(pr_httpd_request_t *self, const char *method, const char *version)
{
    self->head_seen = true;
    self->owner->stats.requests++;
    self->method = pr_strdup(method);
    httpd_enter(self->owner, self->connection, PHASE_BODY);
    if (judge_head(self, version))
        return;
    self->owner->options.head(self->owner->options.arg, self);
    const char *length = pr_headers_find(self->headers, self->header_count, "Content-Length");
    if (!self->response && length && strtoull(length, NULL, 10) > self->max_body)
        refuse(self, 413, "body_too_large", "The body is larger than this resource takes.");
}

/* ---- reading the body ---- */

static void refuse_body(pr_httpd_request_t *self, uint32_t status)
{
    self->body_refused = status;
    self->owner->stats.body_bytes -= self->charged;
    self->charged = 0;
    pr_buffer_free(&self->body);
}

/* No reply can be given in the middle of a body: what does not fit is dropped up to a bound, then
 * the connection is. */
static void drop_body(pr_httpd_request_t *self, size_t size)
{
    self->body_dropped += size;
    if (self->body_dropped > DROP_MAX_BYTES)
        httpd_cut(self->owner, self->connection);
}

static void read_body(pr_httpd_request_t *self, const char *data, size_t size)
{
    pr_httpd_t *owner = self->owner;
    if (self->body_refused == 0) {
        if (self->body.len + size > self->max_body)
            refuse_body(self, 413);
        else if (owner->stats.body_bytes + size > owner->options.body_memory_bytes)
            refuse_body(self, 503);
    }
    if (self->body_refused != 0) {
        drop_body(self, size);
        return;
    }
    owner->stats.body_bytes += size;
    self->charged += size;
    pr_rc_t rc = pr_buffer_append(&self->body, data, size);
    pr_assert(rc == PR_OK); /* the size was looked at */
}

/* ---- replying ---- */

static void work(pr_httpd_request_t *self)
{
    self->whole_seen = true;
    if (self->body_refused == 413)
        refuse(self, 413, "body_too_large", "The body is larger than this resource takes.");
    else if (self->body_refused != 0)
        refuse(self, 503, "busy", "There is no room for the body now: send the request again.");
    if (self->response)
        return;
    httpd_enter(self->owner, self->connection, PHASE_WORK);
    self->owner->options.whole(self->owner->options.arg, self);
    if (!self->response) {
        self->suspended = true;
        self->owner->stats.working++;
        MHD_suspend_connection(self->mhd);
    }
}

static enum MHD_Result queue(pr_httpd_request_t *self)
{
    pr_httpd_t *owner = self->owner;
    self->queued = true;
    owner->stats.replies++;
    httpd_enter(owner, self->connection, PHASE_SEND);
    return MHD_queue_response(self->mhd, self->status, self->response);
}

enum MHD_Result httpd_on_access(void *arg, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **context)
{
    (void)arg, (void)mhd, (void)url;
    pr_httpd_request_t *self = *context;
    if (self->connection->phase == PHASE_CUT)
        return MHD_NO;
    if (!self->head_seen) {
        read_head(self, method, version);
        return self->response && self->has_body ? queue(self) : MHD_YES;
    }
    if (*size > 0) {
        read_body(self, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (!self->response && !self->whole_seen)
        work(self);
    return self->response && !self->queued ? queue(self) : MHD_YES;
}

void httpd_on_completed(void *arg, struct MHD_Connection *mhd, void **context,
                        enum MHD_RequestTerminationCode code)
{
    (void)mhd, (void)code;
    pr_httpd_t *owner = arg;
    pr_httpd_request_t *self = *context;
    *context = NULL;
    if (!self)
        return;
    httpd_connection_t *connection = self->connection;
    httpd_request_free(self);
    httpd_enter(owner, connection, PHASE_IDLE);
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    enum MHD_Result added = MHD_add_response_header(response, name, value);
    pr_assert(added == MHD_YES); /* ours: no line breaks in them */
}

void pr_httpd_reply(pr_httpd_request_t *self, const pr_httpd_reply_t *reply)
{
    pr_assert(!self->response && reply->body.len <= PR_HTTPD_REPLY_MAX_BYTES);
    /* libmicrohttpd's parameter is not const; it copies */
    self->response = MHD_create_response_from_buffer(
        reply->body.len, reply->body.len > 0 ? (void *)(uintptr_t)reply->body.data : (void *)"",
        MHD_RESPMEM_MUST_COPY);
    pr_assert(self->response != NULL);
    self->status = reply->status;
    if (reply->content_type && reply->content_type[0] != '\0')
        add_header(self->response, "Content-Type", reply->content_type);
    add_header(self->response, "Cache-Control", reply->caching ? reply->caching : "no-store");
    add_header(self->response, "X-Content-Type-Options", "nosniff");
    const pr_httpd_options_t *options = &self->owner->options;
    for (size_t i = 0; i < options->always_count; i++)
        add_header(self->response, options->always[i].name, options->always[i].value);
    for (size_t i = 0; i < reply->header_count; i++)
        add_header(self->response, reply->headers[i].name, reply->headers[i].value);
    if (reply->close || self->owner->draining)
        add_header(self->response, "Connection", "close");
    if (self->suspended) {
        self->suspended = false;
        self->owner->stats.working--;
        self->owner->resumed = true;
        MHD_resume_connection(self->mhd);
    }
}

void pr_httpd_reply_problem(pr_httpd_request_t *self, uint32_t status, const char *code,
                            const char *detail, int64_t retry_after_s)
{
    pr_buffer_t body;
    char seconds[24];
    pr_buffer_init(&body, PROBLEM_MAX_BYTES);
    if (pr_problem_write(status, code, detail, &body) != PR_OK) {
        pr_buffer_clear(&body); /* the detail was too long: do without */
        pr_rc_t rc = pr_problem_write(status, code, NULL, &body);
        pr_assert(rc == PR_OK);
    }
    pr_httpd_reply_t reply = {
        .status = status, .content_type = PR_PROBLEM_TYPE, .body = pr_buffer_bytes(&body)};
    if (retry_after_s > 0) {
        snprintf(seconds, sizeof seconds, "%lld", (long long)retry_after_s);
        reply.headers[reply.header_count++] = (pr_header_t){"Retry-After", seconds};
    }
    if (status == 401)
        reply.headers[reply.header_count++] =
            (pr_header_t){"WWW-Authenticate", "Bearer realm=\"postrider\""};
    /* behind a frame that is wrong, or a body that is not read, no request can be found */
    reply.close = !self->whole_seen && (self->has_body || status < 401 || status > 429);
    pr_httpd_reply(self, &reply);
    pr_buffer_free(&body);
}

/* ---- looking at it ---- */

const char *pr_httpd_method(const pr_httpd_request_t *self)
{
    return self->method;
}

const char *pr_httpd_target(const pr_httpd_request_t *self)
{
    return self->target;
}

pr_bytes_t pr_httpd_path(const pr_httpd_request_t *self)
{
    return pr_bytes(self->target, self->path_len);
}

pr_bytes_t pr_httpd_query(const pr_httpd_request_t *self)
{
    const char *rest = self->target + self->path_len;
    return pr_bytes_text(rest[0] == '?' ? rest + 1 : "");
}

const pr_header_t *pr_httpd_headers(const pr_httpd_request_t *self, size_t *count)
{
    *count = self->header_count;
    return self->headers;
}

const char *pr_httpd_header(const pr_httpd_request_t *self, const char *name)
{
    return pr_headers_find(self->headers, self->header_count, name);
}

pr_bytes_t pr_httpd_body(const pr_httpd_request_t *self)
{
    return pr_buffer_bytes(&self->body);
}

const pr_ip_t *pr_httpd_client(const pr_httpd_request_t *self)
{
    return &self->client;
}

void pr_httpd_set_context(pr_httpd_request_t *self, void *context)
{
    self->context = context;
}

void *pr_httpd_context(const pr_httpd_request_t *self)
{
    return self->context;
}

void pr_httpd_limit_body(pr_httpd_request_t *self, size_t max_bytes)
{
    if (max_bytes < self->max_body)
        self->max_body = max_bytes;
}
