-- Mirrors engine/decide.ts. Returns the function that applies any hit to a key.
local CENTURY = 3155760000000

local function longest_wait(asked, cost)
  local longest = 0
  for i = 1, #asked do
    local policy = asked[i]
    local wait = policy.algorithm.wait_for(policy.params, policy.row, now, cost)
    if wait > longest then longest = wait end
  end
  return longest
end

-- Charges the cost to each policy, or as much of it as the policy's overdraft allows within `span`. Returns the smallest amount
-- charged.
local function charge(asked, cost, span)
  local least = cost
  for i = 1, #asked do
    local policy = asked[i]
    local algorithm, p, c = policy.algorithm, policy.params, policy.row
    local part = cost
    if span < INF and algorithm.overdraft then part = algorithm.overdraft(p, c, now, cost, span) end
    if part < least then least = part end
    if part ~= 0 then algorithm.take(p, c, now, part) end
  end
  return least
end

-- The function of each verb returns whether the hit passed, the units charged, whether the row changed, and the delay of a booked
-- turn.

-- The part of the cost that passes in mode 'partial': the whole cost, or the number of whole units that every policy has
-- available.
local function fitting(cost)
  if longest_wait(policies, cost) == 0 then return cost end
  local least = cost
  for i = 1, #policies do
    local policy = policies[i]
    local available = policy.algorithm.available(policy.params, policy.row, now)
    if available < least then least = available end
  end
  local units = floor(least)
  for fewer = units, units - 1, -1 do
    if fewer >= 1 and longest_wait(policies, fewer) == 0 then return fewer end
  end
  return 0
end

local function take(mode, cost, span, block)
  local part, fits = cost, nil
  if mode == 'p' then
    part = fitting(cost)
    fits = part > 0
  else
    fits = longest_wait(policies, cost) == 0
  end
  local passes = fits and block == 0
  local is_charged = passes or mode == 'a'
  local taken = 0
  if fits then span = INF end
  if is_charged then taken = charge(charged, part, span) end
  if fits or block > 0 then return passes, taken, is_charged, 0 end
  charge(struck, 1, INF)
  return passes, taken, is_charged or #struck > 0, 0
end

local function apply_other(verb, cost, span, block)
  local function selected(flag, is_set)
    local found = {}
    for i = 1, #policies do
      local policy = policies[i]
      if (policy[flag] or false) == is_set then found[#found + 1] = policy end
    end
    return found
  end

  local function reserve()
    local delay = INF
    if block == 0 then delay = longest_wait(policies, cost) end
    -- A policy that cannot be overdrawn cannot be booked ahead, so the reservation fails if such a policy would require a wait.
    if delay > 0 and longest_wait(selected('bookable', false), cost) > 0 then delay = INF end
    if not (delay < INF and delay <= span) then return false, 0, false, 0 end
    charge(charged, cost, INF)
    return delay == 0, cost, true, delay
  end

  -- Here, `span` is the instant at which the place was taken, or nil if the caller does not know it.
  local function give_back()
    for i = 1, #policies do
      local policy = policies[i]
      local give = policy.algorithm.give
      if policy.holds then
        give(policy.params, policy.row, now, cost, span)
      elseif verb == 'f' then
        give(policy.params, policy.row, now, cost)
      end
    end
  end

  if verb == 'r' then return reserve() end
  local changed = verb == 'b'
  -- A fresh row has nothing to give back, and stays fresh (see decide.ts).
  local is_fresh = not is_any_used(slots) and not (inherit and is_any_signed())
  if (verb == 'f' or verb == 'l' or verb == 'n') and not is_fresh then
    give_back()
    changed = true
  end
  if verb == 'n' then
    local holding = selected('holds', true)
    if #holding > 0 then
      local fits = block == 0 and longest_wait(holding, cost) == 0
      -- The holder keeps running whether or not a place is free, so its place must be counted.
      charge(holding, cost, INF)
      return fits, cost, true, 0
    end
  end
  if verb ~= 'k' and verb ~= 'n' then cost = 1 end
  return block == 0 and longest_wait(policies, cost) == 0, 0, changed, 0
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

-- The cost whose wait is reported to the caller.
local function reported_cost(verb, cost)
  if verb == 'p' then return min(cost, 1) end
  if verb == 'f' or verb == 'l' or verb == 'b' or verb == 'z' then return 1 end
  return cost
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
  local verb, span = '', nil
  if word then
    local amount, rest
    verb, amount, rest = string.match(word, '^(%a?)([^ ]*) ?(.*)$')
    cost, span = amount + 0, tonumber(rest)
  end
  if verb == 'z' then call('DEL', key) end
  local failure = load(key)
  if failure then return nil, nil, failure end
  if inherit then convert() end
  -- To end a block (`span` is 0), 0 is stored: the current time would still block the key if the clock went back.
  if verb == 'b' then blocked_until = span > 0 and now + span or 0 end
  local block = max(0, blocked_until - now)
  local apply = apply_other
  if verb == '' or verb == 'p' or verb == 'a' then apply = take end
  local allowed, taken, changed, delay = apply(verb, cost, span, block)
  if changed and inherit then sign(taken > 0 or verb == 'a') end
  local longest = changed and lifetime()
  local reported = report(reported_cost(verb, cost), allowed, changed)
  if changed then failure = store(key, longest, reported, verb == 'b') end
  if failure then return nil, nil, failure end
  if verb == '' and block == 0 then return allowed and '1' or '0', reported end
  return '2' .. pack('<dddd', allowed and 1 or 0, taken, block, delay), reported
end
