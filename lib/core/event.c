/* SPDX-License-Identifier: Apache-2.0 */
#include "core/event.h"

#include <stddef.h>
#include <string.h>

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Words joined by dots, exactly len bytes. */
static bool is_words(const char *text, size_t len)
{
    bool in_word = false;
    for (size_t i = 0; i < len; i++) {
        if (is_word_byte(text[i]))
            in_word = true;
        else if (text[i] == '.' && in_word)
            in_word = false;
        else
            return false;
    }
    return in_word;
}

bool pr_event_is_name(const char *text)
{
    size_t len = strnlen(text, PR_EVENT_MAX_BYTES + 1);
    return len <= PR_EVENT_MAX_BYTES && is_words(text, len);
}

/* The length of the words before ".*"; 0 when text does not end so. */
static size_t wildcard_stem(const char *text, size_t len)
{
    return len > 2 && memcmp(text + len - 2, ".*", 2) == 0 ? len - 2 : 0;
}

bool pr_event_is_pattern(const char *text)
{
    size_t len = strnlen(text, PR_EVENT_MAX_BYTES + 1);
    if (len > PR_EVENT_MAX_BYTES)
        return false;
    size_t stem = wildcard_stem(text, len);
    return strcmp(text, "*") == 0 || is_words(text, stem > 0 ? stem : len);
}

bool pr_event_matches(const char *pattern, const char *name)
{
    if (!pr_event_is_name(name) || !pr_event_is_pattern(pattern))
        return false;
    if (strcmp(pattern, "*") == 0)
        return true;
    size_t stem = wildcard_stem(pattern, strlen(pattern));
    if (stem > 0)
        return strncmp(pattern, name, stem + 1) == 0; /* with the dot */
    return strcmp(pattern, name) == 0;
}

const char *pr_event_last_word(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}
