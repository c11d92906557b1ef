/* SPDX-License-Identifier: Apache-2.0 */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *pr_open_regular_file(const char *path, bool follow_link)
{
    /* without O_NONBLOCK the open of a pipe waits already */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow_link ? 0 : O_NOFOLLOW));
    struct stat is;
    if (fd < 0)
        return NULL;
    int why = fstat(fd, &is) != 0    ? errno
              : S_ISDIR(is.st_mode)  ? EISDIR
              : !S_ISREG(is.st_mode) ? ENOTSUP
                                     : 0;
    FILE *file = why == 0 ? fdopen(fd, "rb") : NULL;
    if (file == NULL) {
        why = why == 0 ? errno : why;
        close(fd);
        errno = why;
    }
    return file;
}
