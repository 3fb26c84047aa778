/* The completion scripts, one writer per shell. */

#ifndef CLI_COMMAND_COMPLETE_H
#define CLI_COMMAND_COMPLETE_H

#include <stdio.h>

void complete_bash(FILE *to);
void complete_zsh(FILE *to);
void complete_fish(FILE *to);

#endif
