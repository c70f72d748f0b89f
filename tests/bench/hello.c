/* hello.c - the floor for start-up and memory: a program that does nothing, linked to the libraries sandpiper
 * is linked to. With an argument it waits for the end of stdin, so that its memory can be looked at. */
#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argv;
    puts("hello");
    fflush(stdout);
    while (argc > 1 && getchar() != EOF)
        continue;
    return 0;
}
