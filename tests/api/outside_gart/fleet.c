/* What a user of fleets in C writes: prints why a file cannot be loaded. */
#include <gart/fleet.h>
#include <stdio.h>

int main(int argc, char** argv) {
  gart_fleet* fleet = NULL;
  if (argc < 2 || gart_fleet_load(argv[1], NULL, &fleet) == GART_OK) return 1;
  puts(gart_fleet_last_error());
  return 0;
}
