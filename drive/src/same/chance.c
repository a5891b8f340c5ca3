/* Chance that repeats itself: loaded into a program, it takes the place of the system's random numbers.
 *
 * Ids are made of random numbers, and figures follow from them: how many tokens a text with a handle in it has depends
 * on the handle. With the same ids, two programs that do the same say the same figures.
 *
 * - Draws are counted by their length, so that a draw of one length does not move the others. A draw of 32 bytes or
 *   more, which is a key, is always the same.
 * - Every half byte is one of 0 1 4 5 8 9: an id that is written in hex has digits alone, also where a uuid sets bits,
 *   and so always the same number of tokens.
 * - SAME_STARTS names a file that counts the starts of the program, so that one that is started anew draws new ids.
 * - Draws with a flag are not ours: with one, hash tables are seeded. They stay random, so that a result which depends
 *   on the order of a hash table is found out.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define LENGTHS 32

static uint64_t start_number;
static atomic_ulong draws[LENGTHS];

__attribute__((constructor)) static void count_start(void) {
    const char *path = getenv("SAME_STARTS");
    int file = path ? open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file < 0) {
        return;
    }
    start_number = (uint64_t)lseek(file, 0, SEEK_END);
    if (write(file, ".", 1) != 1) {
        abort();
    }
    close(file);
}

static uint64_t mixed(uint64_t seed) {
    seed += 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    return seed ^ (seed >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags) {
    static const uint8_t DIGITS[] = {0, 1, 4, 5, 8, 9};
    if (flags != 0) {
        return syscall(SYS_getrandom, buffer, length, flags);
    }
    uint64_t seed = 0;
    if (length < LENGTHS) {
        seed = mixed(mixed(length << 32 | start_number) + atomic_fetch_add(&draws[length], 1));
    }
    uint8_t *bytes = buffer;
    for (size_t at = 0; at < length; at++) {
        uint64_t number = mixed(seed + at + 1);
        bytes[at] = (uint8_t)(DIGITS[number % 6] << 4 | DIGITS[number / 6 % 6]);
    }
    return (ssize_t)length;
}
