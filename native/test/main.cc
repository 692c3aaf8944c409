#include "check.h"

int main(int argc, char** argv) { return rxib::test::runAll(argc, argv); }
