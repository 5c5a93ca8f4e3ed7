-- needs: sliding-log
-- A log of leases, of which `release` gives back.
A['concurrency'] = {
  grows = true,
  holds = true,
  look = A['sliding-log'].look,
  take = A['sliding-log'].take,
  give = A['sliding-log'].give,
}
