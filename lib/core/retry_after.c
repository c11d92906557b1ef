/* SPDX-License-Identifier: Apache-2.0 */
#include "core/retry_after.h"

#include <string.h>
#include <strings.h>

typedef struct {
    const uint8_t *at, *end;
} cursor_t;

typedef struct {
    int64_t year;
    int month, day, hour, minute, second; /* month 1..12 */
} date_t;

static const char *const short_days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
static const char *const long_days[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static pr_bytes_t trim(pr_bytes_t value)
{
    while (value.len > 0 && (value.data[0] == ' ' || value.data[0] == '\t')) {
        value.data++;
        value.len--;
    }
    while (value.len > 0 && (value.data[value.len - 1] == ' ' || value.data[value.len - 1] == '\t'))
        value.len--;
    return value;
}

/* In any case: names and zone are ASCII. */
static bool take(cursor_t *self, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(self->end - self->at) < len || strncasecmp((const char *)self->at, text, len) != 0)
        return false;
    self->at += len;
    return true;
}

/* The index of the name taken, or -1. */
static int take_name(cursor_t *self, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (take(self, names[i]))
            return i;
    return -1;
}

static bool take_digits(cursor_t *self, int count, int *out)
{
    int value = 0;
    if (self->end - self->at < count)
        return false;
    for (int i = 0; i < count; i++) {
        uint8_t c = self->at[i];
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
    }
    self->at += count;
    *out = value;
    return true;
}

static bool take_day(cursor_t *self, int *day)
{
    return take_digits(self, 2, day) || take_digits(self, 1, day);
}

static bool take_zone(cursor_t *self)
{
    return take(self, " GMT") || take(self, " UTC");
}

static bool take_month(cursor_t *self, int *month)
{
    *month = take_name(self, months, 12) + 1;
    return *month > 0;
}

static bool take_year(cursor_t *self, int64_t *year)
{
    int value;
    if (!take_digits(self, 4, &value))
        return false;
    *year = value;
    return true;
}

static bool take_time(cursor_t *self, date_t *d)
{
    return take_digits(self, 2, &d->hour) && take(self, ":") && take_digits(self, 2, &d->minute) &&
           take(self, ":") && take_digits(self, 2, &d->second);
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool is_date(const date_t *d)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int last = days[d->month - 1] + (d->month == 2 && is_leap(d->year) ? 1 : 0);
    return d->day >= 1 && d->day <= last && d->hour <= 23 && d->minute <= 59 && d->second <= 60;
}

/* Days since 1970-01-01 of a Gregorian date (H. Hinnant, "chrono-compatible low-level date
 * algorithms": years begin in March, eras of 400 years have 146097 days). year >= 0. */
static int64_t days_since_1970(const date_t *d)
{
    int64_t year = d->month <= 2 ? d->year - 1 : d->year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (d->month + (d->month > 2 ? -3 : 9)) + 2) / 5 + d->day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static int64_t to_seconds(const date_t *d)
{
    return days_since_1970(d) * 86400 + d->hour * 3600 + d->minute * 60 + d->second;
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool read_imf_fixdate(cursor_t c, date_t *d)
{
    return take_name(&c, short_days, 7) >= 0 && take(&c, ", ") && take_day(&c, &d->day) &&
           take(&c, " ") && take_month(&c, &d->month) && take(&c, " ") && take_year(&c, &d->year) &&
           take(&c, " ") && take_time(&c, d) && take_zone(&c) && c.at == c.end;
}

/* Sunday, 06-Nov-94 08:49:37 GMT; the year is 0..99 afterwards. */
static bool read_rfc850(cursor_t c, date_t *d)
{
    int year;
    bool ok = take_name(&c, long_days, 7) >= 0 && take(&c, ", ") && take_day(&c, &d->day) &&
              take(&c, "-") && take_month(&c, &d->month) && take(&c, "-") &&
              take_digits(&c, 2, &year) && take(&c, " ") && take_time(&c, d) && take_zone(&c) &&
              c.at == c.end;
    if (ok)
        d->year = year;
    return ok;
}

/* Sun Nov  6 08:49:37 1994 */
static bool read_asctime(cursor_t c, date_t *d)
{
    return take_name(&c, short_days, 7) >= 0 && take(&c, " ") && take_month(&c, &d->month) &&
           take(&c, " ") && (take(&c, " ") ? take_digits(&c, 1, &d->day) : take_day(&c, &d->day)) &&
           take(&c, " ") && take_time(&c, d) && take(&c, " ") && take_year(&c, &d->year) &&
           c.at == c.end;
}

/* RFC 9110: a two-digit year that seems more than 50 years ahead is the most recent year in the
 * past that ends so. The century is found by counting up from 1900. */
static void resolve_century(date_t *d, int64_t now_s)
{
    const int64_t fifty_years_s = (int64_t)50 * 31556952;
    d->year += 1900;
    while (d->year < 9900) {
        date_t later = *d;
        later.year += 100;
        if (to_seconds(&later) > now_s + fifty_years_s)
            return;
        d->year += 100;
    }
}

bool pr_http_date_parse(pr_bytes_t value, int64_t now_s, int64_t *seconds)
{
    value = trim(value);
    if (value.len == 0)
        return false;
    cursor_t c = {value.data, value.data + value.len};
    date_t d = {0};
    if (read_rfc850(c, &d)) {
        /* 29 February exists in some centuries only: check the day after the year is known. */
        resolve_century(&d, now_s);
    } else if (!read_imf_fixdate(c, &d) && !read_asctime(c, &d)) {
        return false;
    }
    if (!is_date(&d))
        return false;
    *seconds = to_seconds(&d);
    return true;
}

static bool read_delta(pr_bytes_t value, int64_t *seconds)
{
    const int64_t enough = INT64_MAX / 10000; /* above every cap; times 1000 still fits */
    int64_t sum = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
        sum = sum * 10 + (value.data[i] - '0');
        if (sum > enough)
            sum = enough;
    }
    *seconds = sum;
    return value.len > 0;
}

bool pr_retry_after_parse(pr_bytes_t value, int64_t now_s, int64_t cap_ms, int64_t *ms)
{
    int64_t wait_s, at_s;
    value = trim(value);
    if (!read_delta(value, &wait_s)) {
        if (!pr_http_date_parse(value, now_s, &at_s))
            return false;
        wait_s = at_s > now_s ? at_s - now_s : 0;
    }
    *ms = wait_s > cap_ms / 1000 ? cap_ms : wait_s * 1000;
    return true;
}
