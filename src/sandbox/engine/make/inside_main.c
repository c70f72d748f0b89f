/* inside_main.c - our part on another machine as a program of its own (engine/inside.h): statically
 * linked, so it runs where no sandpiper and none of its libraries are. */
#include <stdbool.h>
#include <string.h>

#include "engine/inside.h"
#include "engine/uids.h"

/* Asking for users would load libraries of that machine. It draws from 2^28 uids that nobody gives away. */
bool host_has_user(unsigned uid)
{
    (void)uid;
    return false;
}

int main(int argc, char **argv)
{
    return argc < 2 || strcmp(argv[1], "inside") != 0 ? 2 : inside_run(argv + 2, VERSION);
}
