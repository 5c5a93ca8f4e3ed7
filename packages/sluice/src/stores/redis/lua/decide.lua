-- Mirrors engine/decide.ts. Returns the function that applies any hit to a key.
local CENTURY = 3155760000000

-- A cost is one number for all policies, or a table with a number for each policy.
local function cost_of(policy, cost)
  if type(cost) == 'table' then return cost[policy.index] end
  return cost
end

-- The units that must be available: the cost, plus the units that each policy must keep free. A policy whose cost in a table is 0
-- is ignored.
local function needed_for(cost, keep_free)
  if not keep_free then return cost end
  local needed = {}
  for i = 1, #policies do
    local own = cost_of(policies[i], cost)
    needed[i] = own == 0 and 0 or own + keep_free[i]
  end
  return needed
end

local function longest_wait(asked, cost)
  local longest, is_table = 0, type(cost) == 'table'
  for i = 1, #asked do
    local policy = asked[i]
    local own = cost_of(policy, cost)
    if not is_table or own ~= 0 then
      local wait = policy.algorithm.wait_for(policy.params, policy.row, now, own)
      if wait > longest then longest = wait end
    end
  end
  return longest
end

-- Charges the cost to each policy, or as much of it as the policy's overdraft allows within `span`. Records what each policy was
-- charged. Returns the smallest amount charged or, for a cost in a table, the largest.
local function charge(asked, cost, span, is_silent)
  local least, most = INF, 0
  for i = 1, #asked do
    local policy = asked[i]
    local algorithm, p, c = policy.algorithm, policy.params, policy.row
    local part = max(0, cost_of(policy, cost))
    if part > 0 and span < INF and algorithm.overdraft then part = algorithm.overdraft(p, c, now, part, span) end
    least, most = min(least, part), max(most, part)
    if part ~= 0 then algorithm.take(p, c, now, part) end
    if not is_silent then policy.taken = part end
  end
  if type(cost) == 'table' then return most end
  return min(least, cost)
end

-- The function of each verb returns whether the hit passed, the units charged, whether the row changed, and the delay of a booked
-- turn.

-- The part of the cost that passes in mode 'partial': the whole cost, or the number of whole units that every policy has
-- available.
local function fitting(cost, keep_free)
  if longest_wait(policies, needed_for(cost, keep_free)) == 0 then return cost end
  local least = cost
  for i = 1, #policies do
    local policy = policies[i]
    local available = policy.algorithm.available(policy.params, policy.row, now)
    if keep_free then available = available - keep_free[i] end
    if available < least then least = available end
  end
  local units = floor(least)
  for fewer = units, units - 1, -1 do
    if fewer >= 1 and longest_wait(policies, needed_for(fewer, keep_free)) == 0 then return fewer end
  end
  return 0
end

local function take(mode, cost, span, block, keep_free)
  local part, fits = cost, nil
  if mode == 'p' then
    part = fitting(cost, keep_free)
    fits = part > 0
  else
    fits = longest_wait(policies, needed_for(cost, keep_free)) == 0
  end
  local passes = fits and block == 0
  local is_charged = passes or mode == 'a'
  local taken = 0
  if fits then span = INF end
  if is_charged then taken = charge(charged, part, span) end
  if fits or block > 0 then return passes, taken, is_charged, 0 end
  charge(struck, 1, INF, true)
  return passes, taken, is_charged or #struck > 0, 0
end

local function apply_other(verb, cost, span, block, keep_free)
  local function selected(flag, is_set)
    local found = {}
    for i = 1, #policies do
      local policy = policies[i]
      if (policy[flag] or false) == is_set then found[#found + 1] = policy end
    end
    return found
  end

  local function reserve()
    local delay, needed = INF, needed_for(cost, keep_free)
    if block == 0 then delay = longest_wait(policies, needed) end
    -- A policy that cannot be overdrawn cannot be booked ahead, so the reservation fails if such a policy would require a wait.
    if delay > 0 and longest_wait(selected('bookable', false), needed) > 0 then delay = INF end
    if not (delay < INF and delay <= span) then return false, 0, false, 0 end
    return delay == 0, charge(charged, cost, INF), true, delay
  end

  -- In this function, `span` is the instant of the charge, or nil if the caller does not know the instant.
  local function give_back()
    for i = 1, #policies do
      local policy = policies[i]
      local back = cost_of(policy, cost)
      local is_given = policy.holds
      if verb == 'f' then is_given = true end
      if verb == 's' then
        back = -back
        is_given = not policy.holds and not policy.counts_denials
      end
      if is_given and back > 0 then policy.algorithm.give(policy.params, policy.row, now, back, span) end
    end
  end

  -- Charges the units that were used in addition to those already charged, even if that overdraws the row.
  local function charge_rest()
    local most = 0
    for i = 1, #charged do
      local policy = charged[i]
      if not policy.holds then most = max(most, charge({ policy }, cost, INF)) end
    end
    return most
  end

  if verb == 'r' then return reserve() end
  local changed = verb == 'b'
  -- A row in which nothing was recorded has nothing to give back, and is not changed (see decide.ts).
  local is_fresh = not is_any_used(slots) and not (inherit and is_any_signed())
  if (verb == 'f' or verb == 's' or verb == 'l' or verb == 'n') and not is_fresh then
    give_back()
    changed = true
  end
  if verb == 'n' then
    local holding = selected('holds', true)
    if #holding > 0 then
      local fits = block == 0 and longest_wait(holding, cost) == 0
      -- The holder keeps running whether or not a place is free, so its place must be counted.
      return fits, charge(holding, cost, INF), true, 0
    end
  end
  local taken = 0
  if verb == 's' then
    taken = charge_rest()
    changed = changed or taken > 0
  end
  if verb ~= 'k' and verb ~= 'n' then cost = 1 end
  return block == 0 and longest_wait(policies, needed_for(cost, keep_free)) == 0, taken, changed, 0
end

-- How long the row must be kept.
local function lifetime()
  local longest = max(0, blocked_until - now)
  if inherit then longest = max(longest, kept_for()) end
  for i = 1, #policies do
    local policy = policies[i]
    policy.clear = policy.algorithm.clear_in(policy.params, policy.row, now)
    longest = max(longest, policy.clear)
  end
  return min(longest + keep, CENTURY)
end

local function is_needed_by_other_tiers()
  local others = {}
  for i = 1, #slots do
    local slot = slots[i]
    if not slot.algorithm then others[#others + 1] = slot end
  end
  return is_any_used(others)
end

-- The cost that the reported wait refers to.
local function reported_cost(verb, cost, keep_free)
  if verb == 'p' then return needed_for(min(cost, 1), keep_free) end
  if verb == 'f' or verb == 's' or verb == 'l' or verb == 'b' or verb == 'z' then return 1 end
  if verb == 'n' then return cost end
  return needed_for(cost, keep_free)
end

-- Parses a number, or several numbers that are separated by commas, which become a table.
local function numbers_in(text)
  if not string.find(text, ',', 1, true) then return text + 0 end
  local numbers = {}
  for number in string.gmatch(text, '[^,]+') do numbers[#numbers + 1] = number + 0 end
  return numbers
end

local function store(key, longest, reported, is_block)
  if longest == 0 and is_only_version() and not is_needed_by_other_tiers() then
    call('DEL', key)
    return nil
  end
  local lasts = clock + longest <= expires
  if not lasts then
    -- A row that is used again is kept for 1.5 times as long as necessary, so that most writes leave the expiry unchanged.
    if expires > 0 then longest = longest * 1.5 end
    expires = ceil(clock + longest)
  end
  return save(key, reported, lasts, is_block)
end

for i = 1, #policies do
  local policy = policies[i]
  if policy.algorithm.check_clock then policy.algorithm.check_clock(policy.params, now) end
end

-- Returns the outcome and the report of a hit, or nil, nil and the server's error. If `word` is nil, the hit is a take in mode
-- 'whole'.
return function(key, word, cost)
  local verb, span, keep_free = '', nil, nil
  if word then
    local amount, rest, kept
    verb, amount, rest, kept = string.match(word, '^(%a?)([^ ]*) ?([^ ]*) ?(.*)$')
    cost, span = numbers_in(amount), tonumber(rest)
    if sub(rest, 1, 1) == '@' then
      span = sub(rest, 2) + 0
      if span > now + SKEW then return nil, nil, 'FUTURE' end
    end
    if kept ~= '' then
      keep_free = numbers_in(kept)
      if type(keep_free) == 'number' then keep_free = { keep_free } end
    end
  end
  for i = 1, #policies do policies[i].taken = 0 end
  if verb == 'z' then call('DEL', key) end
  local failure = load(key)
  if failure then return nil, nil, failure end
  if inherit then convert() end
  -- To end a block (`span` is 0), 0 is stored, because the current time would still block the key if the clock went back.
  if verb == 'b' then blocked_until = span > 0 and now + span or 0 end
  local block = max(0, blocked_until - now)
  local apply = apply_other
  if verb == '' or verb == 'p' or verb == 'a' then apply = take end
  local allowed, taken, changed, delay = apply(verb, cost, span, block, keep_free)
  if changed and inherit then sign(taken > 0 or verb == 'a') end
  local longest = changed and lifetime()
  local reported = report(reported_cost(verb, cost, keep_free), allowed, changed)
  if changed then failure = store(key, longest, reported, verb == 'b') end
  if failure then return nil, nil, failure end
  if verb == '' and block == 0 then return allowed and '1' or '0', reported end
  local detail = '2' .. pack('<dddd', allowed and 1 or 0, taken, block, delay)
  for i = 1, #policies do detail = detail .. pack('<d', policies[i].taken) end
  return detail, reported
end
