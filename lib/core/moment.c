/* SPDX-License-Identifier: Apache-2.0 */
#include "core/moment.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)
#define DAY_S INT64_C(86400)
#define FIRST_YEAR 1970
#define END_S INT64_C(253402300800) /* year 10000 */
#define ZONE_MAX_MIN (14 * 60)
#define FRACTION_DIGITS_MAX 9

static const char *const format_names[] = {"", "rfc3339", "local", "unix", "unix_ms"};

typedef struct {
    const uint8_t *at, *end;
} cursor_t;

typedef struct {
    int year, month, day, hour, minute, second; /* month and day from 1 */
} civil_t;

pr_moment_format_t pr_moment_format_parse(const char *text)
{
    for (size_t i = 1; i < PR_COUNT(format_names); i++)
        if (strcmp(text, format_names[i]) == 0)
            return (pr_moment_format_t)i;
    return PR_MOMENT_NONE;
}

/* ---- the calendar (H. Hinnant, "chrono-compatible low-level date algorithms") ---- */

static int64_t days_of(const civil_t *c)
{
    int64_t year = c->month <= 2 ? c->year - 1 : c->year;
    int64_t era = year / 400, year_of_era = year % 400;
    int64_t day_of_year = (153 * (c->month + (c->month > 2 ? -3 : 9)) + 2) / 5 + c->day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

static civil_t civil_of(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = z / 146097, day_of_era = z % 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    civil_t c = {.day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
                 .month =
                     (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9)};
    c.year = (int)(year_of_era + era * 400 + (c.month <= 2));
    return c;
}

static bool exists(const civil_t *c)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (c->year < FIRST_YEAR || c->month < 1 || c->month > 12)
        return false;
    bool leap = (c->year % 4 == 0 && c->year % 100 != 0) || c->year % 400 == 0;
    int last = days[c->month - 1] + (c->month == 2 && leap);
    return c->day >= 1 && c->day <= last && c->hour <= 23 && c->minute <= 59 && c->second <= 60;
}

/* ---- reading ---- */

static bool take(cursor_t *self, char c)
{
    if (self->at == self->end || *self->at != (uint8_t)c)
        return false;
    self->at++;
    return true;
}

static bool take_number(cursor_t *self, int digits, int *out)
{
    int value = 0;
    if (self->end - self->at < digits)
        return false;
    for (int i = 0; i < digits; i++) {
        if (self->at[i] < '0' || self->at[i] > '9')
            return false;
        value = value * 10 + (self->at[i] - '0');
    }
    self->at += digits;
    *out = value;
    return true;
}

static bool take_date(cursor_t *self, civil_t *c)
{
    return take_number(self, 4, &c->year) && take(self, '-') && take_number(self, 2, &c->month) &&
           take(self, '-') && take_number(self, 2, &c->day);
}

static bool take_time(cursor_t *self, civil_t *c)
{
    return take_number(self, 2, &c->hour) && take(self, ':') && take_number(self, 2, &c->minute) &&
           take(self, ':') && take_number(self, 2, &c->second);
}

static bool take_fraction(cursor_t *self, int64_t *us)
{
    int digits = 0;
    int64_t scale = SECOND_US / 10;
    *us = 0;
    if (!take(self, '.'))
        return true;
    for (int digit; take_number(self, 1, &digit); digits++, scale /= 10)
        *us += digit * scale;
    return digits >= 1 && digits <= FRACTION_DIGITS_MAX;
}

static bool take_zone(cursor_t *self, int *zone_min)
{
    int hours, minutes;
    *zone_min = 0;
    if (take(self, 'Z') || take(self, 'z'))
        return true;
    bool west = take(self, '-');
    if ((!west && !take(self, '+')) || !take_number(self, 2, &hours))
        return false;
    (void)take(self, ':');
    if (!take_number(self, 2, &minutes) || minutes > 59 || hours * 60 + minutes > ZONE_MAX_MIN)
        return false;
    *zone_min = (west ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

static bool to_us(const civil_t *c, int64_t fraction_us, int zone_min, int64_t *us)
{
    if (!exists(c))
        return false;
    int64_t s = days_of(c) * DAY_S + c->hour * 3600 + c->minute * 60 + c->second - zone_min * 60;
    if (s < 0 || s >= END_S)
        return false;
    *us = s * SECOND_US + fraction_us;
    return true;
}

static bool read_rfc3339(cursor_t self, int64_t *us)
{
    civil_t c;
    int zone_min;
    int64_t fraction_us;
    return take_date(&self, &c) && (take(&self, 'T') || take(&self, 't')) && take_time(&self, &c) &&
           take_fraction(&self, &fraction_us) && take_zone(&self, &zone_min) &&
           self.at == self.end && to_us(&c, fraction_us, zone_min, us);
}

static bool read_local(cursor_t self, int zone_min, int64_t *us)
{
    civil_t c;
    return take_date(&self, &c) && take(&self, ' ') && take_time(&self, &c) &&
           self.at == self.end && to_us(&c, 0, zone_min, us);
}

static bool read_unix(cursor_t self, int64_t unit_us, int64_t *us)
{
    int64_t value = 0;
    int digit;
    if (self.at == self.end)
        return false;
    while (take_number(&self, 1, &digit)) {
        value = value * 10 + digit;
        if (value >= END_S * SECOND_US / unit_us)
            return false;
    }
    if (self.at != self.end)
        return false;
    *us = value * unit_us;
    return true;
}

bool pr_moment_parse(pr_bytes_t text, pr_moment_format_t format, int zone_min, int64_t *us)
{
    if (text.len == 0)
        return false;
    cursor_t self = {text.data, text.data + text.len};
    switch (format) {
    case PR_MOMENT_RFC3339:
        return read_rfc3339(self, us);
    case PR_MOMENT_LOCAL:
        return read_local(self, zone_min, us);
    case PR_MOMENT_UNIX:
        return read_unix(self, SECOND_US, us);
    case PR_MOMENT_UNIX_MS:
        return read_unix(self, SECOND_US / 1000, us);
    case PR_MOMENT_NONE:
        break;
    }
    return false;
}

bool pr_moment_zone_parse(const char *text, int *zone_min)
{
    if (strcmp(text, "UTC") == 0) {
        *zone_min = 0;
        return true;
    }
    pr_bytes_t bytes = pr_bytes_text(text);
    cursor_t self = {bytes.data, bytes.data + bytes.len};
    int found;
    if (!take_zone(&self, &found) || self.at != self.end)
        return false;
    *zone_min = found;
    return true;
}

/* ---- writing ---- */

static void write_civil(int64_t s, pr_moment_format_t format, int zone_min,
                        char out[PR_MOMENT_TEXT_MAX])
{
    int64_t local = s + zone_min * 60;
    local = local < 0 ? 0 : local >= END_S ? END_S - 1 : local;
    civil_t c = civil_of(local / DAY_S);
    int rest = (int)(local % DAY_S), away = zone_min < 0 ? -zone_min : zone_min;
    int len =
        snprintf(out, PR_MOMENT_TEXT_MAX, "%04d-%02d-%02d%c%02d:%02d:%02d", c.year, c.month, c.day,
                 format == PR_MOMENT_LOCAL ? ' ' : 'T', rest / 3600, rest / 60 % 60, rest % 60);
    if (format == PR_MOMENT_LOCAL)
        return;
    if (zone_min == 0)
        snprintf(out + len, PR_MOMENT_TEXT_MAX - (size_t)len, "Z");
    else
        snprintf(out + len, PR_MOMENT_TEXT_MAX - (size_t)len, "%c%02d:%02d",
                 zone_min < 0 ? '-' : '+', away / 60, away % 60);
}

void pr_moment_format(int64_t us, pr_moment_format_t format, int zone_min,
                      char out[PR_MOMENT_TEXT_MAX])
{
    us = us < 0 ? 0 : us >= END_S * SECOND_US ? END_S * SECOND_US - 1 : us;
    if (format == PR_MOMENT_UNIX)
        snprintf(out, PR_MOMENT_TEXT_MAX, "%" PRId64, us / SECOND_US);
    else if (format == PR_MOMENT_UNIX_MS)
        snprintf(out, PR_MOMENT_TEXT_MAX, "%" PRId64, us / (SECOND_US / 1000));
    else
        write_civil(us / SECOND_US, format, zone_min, out);
}
